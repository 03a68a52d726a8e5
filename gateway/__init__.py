"""The door. Wires the rooms together; owns every socket, file, task and clock."""
