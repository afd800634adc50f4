nproc > count
