"""What a memory is. Pure: no clock, disk, SQL or network."""
