import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Mounts a FUSE file system on the folder given as its argument, and never answers. */
const script = `
use Fcntl;
use POSIX ();
sysopen(my $device, '/dev/fuse', O_RDWR) or die "open: $!";
my $options = sprintf('fd=%d,rootmode=40000,user_id=0,group_id=0', fileno($device));
my ($source, $type) = ('hung', 'fuse');
my %mount = (x86_64 => 165, aarch64 => 40);
syscall($mount{(POSIX::uname())[4]}, $source, $ARGV[0], $type, 6, $options) == 0 or die "mount: $!";
$| = 1;
print "mounted\\n";
sleep;
`;

/**
 * Mounts a file system on a folder that answers no call: each call blocks until the mount is released. Rejects if this
 * machine has no FUSE.
 */
export async function hungMount(folder: string): Promise<{ release: () => Promise<void> }> {
  const server = spawn('perl', ['-e', script, folder], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [said] = (await Promise.race([once(server.stdout, 'data'), once(server.stderr, 'data')])) as [Buffer];
  if (said.toString() !== 'mounted\n') throw new Error(said.toString());
  return {
    release: async () => {
      if (!server.kill('SIGKILL')) return;
      // Now the kernel fails all blocked calls.
      await once(server, 'exit');
      await once(spawn('umount', ['-l', folder]), 'exit');
    },
  };
}
