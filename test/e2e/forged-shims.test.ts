import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { findShims } from '../../src/containerd/containerd-shims.ts';

const socket = '/run/nobody-listens/containerd.sock';
const id = 'a'.repeat(64);
const shimCommand = ['/tmp/containerd-shim-runc-v2', '-namespace', 'k8s.io', '-id', id, '-address', socket];

/** A process that shows another command line than its own: as long as its own was, which the filler makes it. */
async function forgedShim(prefix: readonly string[]): Promise<ChildProcess> {
  const shown = shimCommand.join('\0');
  const perl = ['perl', '-'];
  const filler = 'f'.repeat(shown.length - perl.join('\0').length - 1);
  const command = [...prefix, ...perl, filler];
  const forger = spawn(command[0] ?? '', command.slice(1), { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(forger, 'exit');
  onTestFinished(async () => {
    forger.kill('SIGKILL');
    await ended;
  });
  forger.stdin.end(`$| = 1; $0 = "${shimCommand.join('\\0')}"; print "forged\\n"; sleep 600`);
  await once(forger.stdout, 'data');
  return forger;
}

const shims = async (): Promise<{ pid: number; id: string }[]> =>
  (await findShims(socket)).map((shim) => ({ pid: shim.process.pid, id: shim.id }));

test('a process of root with the command line of a shim is one', async () => {
  const { pid } = await forgedShim([]);
  expect(await shims()).toEqual([{ pid, id }]);
});

test('a process of another user is not a shim, whatever its command line: its program would be run as root', async () => {
  await forgedShim(['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups']);
  expect(await shims()).toEqual([]);
});

test('a process of root in a container, with another root folder, is not a shim', async () => {
  const enter = `
    mount -t tmpfs tmpfs /mnt && mkdir /mnt/usr /mnt/proc && mount --rbind /usr /mnt/usr && mount --rbind /proc /mnt/proc
    for name in bin lib lib64; do ln -s usr/$name /mnt/$name; done
    exec chroot /mnt "$@"`;
  await forgedShim(['unshare', '--mount', 'sh', '-c', enter, 'sh']);
  expect(await shims()).toEqual([]);
});
