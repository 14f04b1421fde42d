"""The kinds `volume_group` and `logical_volume` of LVM.

`tools` runs its programs, `devices` reads the devices of a group, `size` and `names` are what LVM takes as such.
"""
