# The pause program, which holds a pod's namespaces. This is a whole ELF file, so its bytes depend only on this text.
#
# Ignores SIGCHLD with SA_NOCLDWAIT: as process 1 of a shared PID namespace, it has the kernel reap its children.
# Blocks SIGTERM and SIGINT and waits for them: process 1 has no default actions, and this needs no handler.
  .set BASE, 0x400000
  .text

elf:
  .byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0     # 64 bit, little endian, System V
  .zero 8
  .short 2, 62                              # executable, x86-64
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
child_action:                               # struct kernel_sigaction
  .quad 1                                   # SIG_IGN
  .quad 2                                   # SA_NOCLDWAIT
  .quad 0, 0
stop_signals:
  .quad (1 << (15 - 1)) | (1 << (2 - 1))    # SIGTERM, SIGINT

start:
  mov $13, %eax                             # rt_sigaction(SIGCHLD, &child_action, NULL, 8)
  mov $17, %edi
  lea child_action(%rip), %rsi
  xor %edx, %edx
  mov $8, %r10d
  syscall
  mov $14, %eax                             # rt_sigprocmask(SIG_BLOCK, &stop_signals, NULL, 8)
  xor %edi, %edi
  lea stop_signals(%rip), %rsi
  syscall
wait:
  mov $128, %eax                            # rt_sigtimedwait(&stop_signals, NULL, NULL, 8)
  lea stop_signals(%rip), %rdi
  xor %esi, %esi
  xor %edx, %edx
  mov $8, %r10d
  syscall
  test %eax, %eax
  js wait                                   # EINTR
  mov $231, %eax                            # exit_group(0)
  xor %edi, %edi
  syscall
end:
