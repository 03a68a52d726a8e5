"""What each section means: as deciding uses it, and what a file may say of it that makes no sense. One file each."""
