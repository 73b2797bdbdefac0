# The pause program for riscv64; see pause-x86_64.s, which it follows step by step.
  .set BASE, 0x400000
  .option norvc
  .text

elf:
  .byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0     # 64 bit, little endian, System V
  .zero 8
  .short 2, 243                             # executable, RISC-V
  .long 1
  .quad BASE + (start - elf)                # entry
  .quad program_header - elf
  .quad 0                                   # no sections
  .long 0
  .short 64, 56, 1, 0, 0, 0
program_header:
  .long 1, 5                                # PT_LOAD, read and execute
  .quad 0, BASE, BASE
  .quad end - elf, end - elf
  .quad 0x1000
child_action:                               # struct sigaction of the kernel
  .quad 1                                   # SIG_IGN
  .quad 2                                   # SA_NOCLDWAIT
  .quad 0
stop_signals:
  .quad (1 << (15 - 1)) | (1 << (2 - 1))    # SIGTERM, SIGINT

start:
  li a7, 134                                # rt_sigaction(SIGCHLD, &child_action, NULL, 8)
  li a0, 17
  lla a1, child_action
  li a2, 0
  li a3, 8
  ecall
  li a7, 135                                # rt_sigprocmask(SIG_BLOCK, &stop_signals, NULL, 8)
  li a0, 0
  lla a1, stop_signals
  li a2, 0
  li a3, 8
  ecall
wait:
  li a7, 137                                # rt_sigtimedwait(&stop_signals, NULL, NULL, 8)
  lla a0, stop_signals
  li a1, 0
  li a2, 0
  li a3, 8
  ecall
  bltz a0, wait                             # EINTR
  li a7, 94                                 # exit_group(0)
  li a0, 0
  ecall
end:
