/**
 * The exit code a shell gives for a command it cannot start: 127 for one that is not there, 126 for one that is no program.
 * No status has a code for it, so this is one place where the words decide: those of the kernel and of the Go and C runtimes
 * that pass them on. Returns undefined for another failure.
 */
export function startFailureExitCode(message: string): 126 | 127 | undefined {
  if (/executable file .*not found|no such file or directory/i.test(message)) return 127;
  if (/permission denied|is a directory|exec format error/i.test(message)) return 126;
  return undefined;
}
