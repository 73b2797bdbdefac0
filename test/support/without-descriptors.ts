import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs `work` while this process can open neither files nor sockets. Returns its result. */
export async function withoutDescriptors<T>(work: () => Promise<T>): Promise<T> {
  const pid = String(process.pid);
  const before = execFileSync('prlimit', ['--pid', pid, '--nofile', '--noheadings', '--output', 'SOFT'], {
    encoding: 'utf8',
  }).trim();
  // Started first, because no process can be started without descriptors.
  const restore = spawn('sh', ['-c', 'read line; exec prlimit --pid "$1" --nofile="$2:"', 'sh', pid, before], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const restored = once(restore, 'exit');
  execFileSync('prlimit', ['--pid', pid, '--nofile=3:']);
  try {
    return await work();
  } finally {
    restore.stdin.end('\n');
    await restored;
  }
}
