import { execa } from 'execa';
import { deadlineMs } from './deadline.ts';

/** `pidfd_open` has this number on every architecture. Its descriptor becomes readable when the process exits. */
const script = `
my $fd = syscall(434, $ARGV[0] + 0, 0);
exit 0 if $fd < 0 && $!{ESRCH};
die "pidfd_open: $!" if $fd < 0;
vec(my $fds, $fd, 1) = 1;
select($fds, undef, undef, undef);`;

/** Resolves when a process has exited, also one that is not our child. */
export async function untilExited(pid: number): Promise<void> {
  await execa('perl', ['-MErrno', '-e', script, String(pid)], { timeout: deadlineMs });
}
