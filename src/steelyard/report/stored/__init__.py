"""Run folders -> the index, with what only this room can say of them: their result lines."""
