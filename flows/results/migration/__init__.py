"""From one rating system to another: two runs side by side, and one change in parts."""
