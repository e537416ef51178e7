"""Tests that Windows cannot run, each with the reason: it has no fork, and no signals that other processes can send."""

from __future__ import annotations

FORK = "Windows has no os.fork, from which these commands start"
KILL = "Windows has no SIGKILL, whose number is the exit code here"
INTERRUPT = "Windows has no way to send SIGINT to one process: os.kill would end it"
TERMINATE = "Windows has no SIGTERM that a process can handle"
STOP = "Windows has no SIGSTOP and SIGCONT"
LIMIT = "Windows has no module resource, by which the disk is made full"
GROUP = "Windows has no process groups, by which the suite of attacks ends what a case started"
LINK = "Windows allows symbolic links only to administrators"
MODE = "Windows has no permissions of a group and of others"

PUBLISH = "flows/publication/publish/test_stops.py::test_publish__"
DATABASE = "flows/publication/databases/test_publish_database_faults.py::test_publish__"
DISK = "storage/lake/access/test_disk.py::test_"

# By file below tests/, or file and function
NOT_ON_WINDOWS = {
    "chaos/test_chaos.py": GROUP,
    "flows/execution/test_dask.py": STOP,
    "flows/execution/test_relay.py": STOP,
    "flows/execution/test_worker_snapshots.py": STOP,
    "flows/engines/test_interrupts.py": INTERRUPT,
    "flows/live/log/test_folder_log.py::test_file_limit__is_a_full_disk": LIMIT,
    "flows/live/service/test_examples.py": TERMINATE,
    "flows/live/service/test_kills.py": KILL,
    "flows/live/service/test_process.py": TERMINATE,
    "flows/engines/test_local_cluster.py::test_local_cluster__removes_the_files_of_one_whose_driver_was_killed": LINK,
    "rating_kernels/core/test_private_files.py": MODE,
    "rating_kernels/core/test_cache_folder.py::test_folder__link_to_another_one_is_not_followed": LINK,
    "rating_kernels/core/test_cache_folder.py::test_folder__numba_cache_dir_may_be_a_link": LINK,
    f"{DISK}flush__on_macos_empties_the_cache_of_the_disk": "Windows has no module fcntl",
    f"{DISK}process__of_another_user_hidden_by_proc_has_an_unknown_state": "Windows has no /proc",
    "flows/benchmark/test_stops.py::test_command__continues_after_a_signal": INTERRUPT,
    "flows/engines/test_task_pool.py::test_whole_pool__starts_a_cluster_that_ends_with_it": (
        "Windows has no os.kill that only asks whether a process is there"
    ),
    "flows/compilation/test_compile.py::test_end__kills_a_child_that_does_not_end": KILL,
    "flows/databases/test_bounds.py::ingested": "Windows has no module resource; tests that call it skip",
    "flows/databases/test_read_only.py::folder": MODE,
    "flows/databases/test_tls.py::install": MODE,
    "flows/sources/archives/test_arrow_csv.py::test_process__ends_with_an_error_while_arrow_reads_ahead": KILL,
    "system/test_conditional_stores.py": FORK,
    "system/test_power_cuts.py": FORK,
    "system/test_clock.py": FORK,
    "flows/sources/files/test_lake_folders.py::test_table__is_found_from_its_folder_its_parts_and_its_files": LINK,
    "flows/publication/test_export.py::test_file__follows_links_and_writes_to_pipes": LINK,
    "flows/publication/test_export.py::test_command__interrupted_leaves_no_file": INTERRUPT,
    "system/test_faults.py": FORK,
    "system/test_fencing.py": FORK,
    "system/test_fencing_stores.py": FORK,
    "system/test_full_disk.py": FORK,
    "flows/sources/files/test_limits.py::in_child": "Windows has no module resource; tests that call it skip",
    "flows/sources/files/test_limits.py::test_a_named_pipe_is_refused_without_waiting": "Windows has no mkfifo",
    "flows/cli/test_interrupts.py": INTERRUPT,
    "system/test_kill.py": KILL,
    "system/test_kill_anywhere.py": FORK,
    "system/test_no_home.py": "Windows has no way to start a process as another user without a password",
    "system/test_object_store_life.py": FORK,
    f"{PUBLISH}killed_at_any_time_leaves_complete_tables_and_the_next_completes": KILL,
    f"{PUBLISH}a_full_disk_is_reported_in_one_line_and_a_later_publish_completes": LIMIT,
    "flows/publication/test_publish_faults.py": LIMIT,
    f"{DATABASE}killed_at_every_moment_loses_and_duplicates_nothing": KILL,
    "system/test_races.py": FORK,
    "documents/test_readme.py::test_readme__real_history_leads_to_a_leaderboard_and_a_player": LINK,
    "flows/evaluation/test_tuning.py::test_command__interrupted_keeps_its_finished_trials": INTERRUPT,
    "flows/scheduling/test_follow.py::test_command__continues_after_an_error_and_ends_cleanly": INTERRUPT,
    "flows/ingestion/test_commands.py::test_ingest__interrupted_by_ctrl_c_can_be_continued": INTERRUPT,
    "flows/serving/test_api.py::test_data__a_link_out_of_the_folder_is_not_followed": LINK,
    "flows/serving/test_server.py::test_serve__publishes_in_the_middle_of_requests_fail_none_and_are_seen": TERMINATE,
    "flows/serving/test_load.py": "Windows has no wrk",
    "flows/smoothing/test_smooth.py::test_command__killed_at_any_write_continues_with_the_same_bits": FORK,
}


def reason_to_skip(node: str) -> str:
    """Why a test, by its pytest node id below tests/, cannot run on Windows; empty if it can."""
    file, _, function = node.partition("::")
    return NOT_ON_WINDOWS.get(file, "") or NOT_ON_WINDOWS.get(f"{file}::{function.partition('[')[0]}", "")
