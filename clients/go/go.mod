module remit.invalid/client

go 1.19
