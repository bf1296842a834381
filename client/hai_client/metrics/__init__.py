"""What a rank uses of its node: readers of the kernel's and the GPU libraries' counters, and windows of samples."""
