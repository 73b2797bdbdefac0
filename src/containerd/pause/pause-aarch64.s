// The pause program for aarch64; see pause-x86_64.s, which it follows step by step.
  .set BASE, 0x400000
  .text

elf:
  .byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0     // 64 bit, little endian, System V
  .zero 8
  .short 2, 183                             // executable, AArch64
  .long 1
  .quad BASE + (start - elf)                // entry
  .quad program_header - elf
  .quad 0                                   // no sections
  .long 0
  .short 64, 56, 1, 0, 0, 0
program_header:
  .long 1, 5                                // PT_LOAD, read and execute
  .quad 0, BASE, BASE
  .quad end - elf, end - elf
  .quad 0x10000                             // kernels with 64 KiB pages
child_action:                               // struct kernel_sigaction
  .quad 1                                   // SIG_IGN
  .quad 2                                   // SA_NOCLDWAIT
  .quad 0, 0
stop_signals:
  .quad (1 << (15 - 1)) | (1 << (2 - 1))    // SIGTERM, SIGINT

start:
  mov x8, #134                              // rt_sigaction(SIGCHLD, &child_action, NULL, 8)
  mov x0, #17
  adr x1, child_action
  mov x2, #0
  mov x3, #8
  svc #0
  mov x8, #135                              // rt_sigprocmask(SIG_BLOCK, &stop_signals, NULL, 8)
  mov x0, #0
  adr x1, stop_signals
  mov x2, #0
  mov x3, #8
  svc #0
wait:
  mov x8, #137                              // rt_sigtimedwait(&stop_signals, NULL, NULL, 8)
  adr x0, stop_signals
  mov x1, #0
  mov x2, #0
  mov x3, #8
  svc #0
  tbnz w0, #31, wait                        // EINTR
  mov x8, #94                               // exit_group(0)
  mov x0, #0
  svc #0
end:
