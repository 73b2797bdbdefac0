@ The pause program for 32-bit ARM, of any version; see pause-x86_64.s, which it follows step by step.
  .set BASE, 0x400000
  .arm
  .text

elf:
  .byte 0x7f, 'E', 'L', 'F', 1, 1, 1, 0     @ 32 bit, little endian, System V
  .zero 8
  .short 2, 40                              @ executable, ARM
  .long 1
  .long BASE + (start - elf)                @ entry
  .long program_header - elf
  .long 0                                   @ no sections
  .long 0x05000000                          @ EABI 5
  .short 52, 32, 1, 0, 0, 0
program_header:
  .long 1                                   @ PT_LOAD
  .long 0, BASE, BASE
  .long end - elf, end - elf
  .long 5                                   @ read and execute
  .long 0x10000                             @ kernels with 64 KiB pages
child_action:                               @ struct sigaction of the kernel
  .long 1                                   @ SIG_IGN
  .long 2                                   @ SA_NOCLDWAIT
  .long 0, 0, 0
stop_signals:
  .long (1 << (15 - 1)) | (1 << (2 - 1)), 0 @ SIGTERM, SIGINT

start:
  mov r7, #174                              @ rt_sigaction(SIGCHLD, &child_action, NULL, 8)
  mov r0, #17
  adr r1, child_action
  mov r2, #0
  mov r3, #8
  svc #0
  mov r7, #175                              @ rt_sigprocmask(SIG_BLOCK, &stop_signals, NULL, 8)
  mov r0, #0
  adr r1, stop_signals
  mov r2, #0
  mov r3, #8
  svc #0
wait:
  mov r7, #177                              @ rt_sigtimedwait(&stop_signals, NULL, NULL, 8)
  adr r0, stop_signals
  mov r1, #0
  mov r2, #0
  mov r3, #8
  svc #0
  cmp r0, #0
  blt wait                                  @ EINTR
  mov r7, #248                              @ exit_group(0)
  mov r0, #0
  svc #0
end:
