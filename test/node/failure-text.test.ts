import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { RpcError, UserError } from '../../src/errors.ts';
import { failureText } from '../../src/node/failure-text.ts';

/** Error in the form that Node creates. */
function systemError(code: string, errno: number, more: object): Error {
  return Object.assign(new Error(`${code}: as Node says it`), { code, errno, ...more });
}

describe('what a command says', () => {
  test.each([
    [new UserError('no pod "web"', { hint: 'Look at ps.' }), 'error: no pod "web"\nhint: Look at ps.\n'],
    [new RpcError('Version', 4, 'too late'), 'error: the container runtime failed Version: too late\n'],
    [
      systemError('EROFS', -30, { syscall: 'mkdir', path: '/mnt/root' }),
      'error: cannot create the folder /mnt/root: read-only file system\n' +
        'hint: Mount it writable, or name a writable folder with --root-dir.\n',
    ],
    [
      systemError('EMFILE', -24, { syscall: 'watch', path: '/run' }),
      'error: cannot watch /run: too many open files\nhint: Raise fs.inotify.max_user_instances with sysctl.\n',
    ],
    [
      systemError('EACCES', -13, { syscall: 'listen', address: '127.0.0.1', port: 80 }),
      'error: cannot listen on 127.0.0.1:80: permission denied\nhint: Run as root, or check the permissions.\n',
    ],
    [
      systemError('ENOSPC', -28, { syscall: 'listen', address: '/mnt/root/kubelet-ts.sock', port: -1 }),
      'error: cannot listen on /mnt/root/kubelet-ts.sock: no space left on device\nhint: Free space on the disk.\n',
    ],
    [
      systemError('ENOENT', -2, { syscall: 'spawn modprobe', path: 'modprobe' }),
      'error: cannot start modprobe: no such file or directory\n',
    ],
    [
      new Error('the runtime does not answer', { cause: new RpcError('Version', 4, '') }),
      'error: the runtime does not answer\n',
    ],
    [
      new TypeError('x is not a function'),
      'error: this is a bug in kubelet-ts: TypeError: x is not a function\n' +
        'hint: Report it with the output of the same command, run with KUBELET_TS_DEBUG=1 in its environment.\n',
    ],
  ])('of %s', (error, text) => {
    expect(failureText(error)).toBe(text);
  });

  test('of a real one names the path', async () => {
    const error: unknown = await readFile('/nonexistent').catch((thrown: unknown) => thrown);
    expect(failureText(error)).toBe('error: cannot open /nonexistent: no such file or directory\n');
  });

  test('has the stack where that is asked for', () => {
    expect(failureText(new TypeError('x is undefined'), { debug: true })).toMatch(/\n {4}at /);
  });
});

test('labels are coloured for a terminal', () => {
  const text = failureText(new UserError('no pod', { hint: 'Look.' }), { isColoured: true });
  expect(text).toBe('\u001b[31merror:\u001b[39m no pod\n\u001b[36mhint:\u001b[39m Look.\n');
});
