"""What the pages show, as the templates read it: of a published run, and of the tables of a static site."""
