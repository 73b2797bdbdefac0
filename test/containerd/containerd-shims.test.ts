import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { findShims, parseShimCommand } from '../../src/containerd/containerd-shims.ts';

const id = 'ab'.repeat(32);
const program = '/usr/bin/containerd-shim-runc-v2';
const socket = '/r/containerd.sock';
const command = [program, '-namespace', 'k8s.io', '-id', id, '-address', socket];

test('knows a shim of a containerd by its whole command line', () => {
  expect(parseShimCommand(command, socket)).toEqual({ program, id });
  expect(parseShimCommand([program, '-debug', ...command.slice(1)], socket)).toEqual({ program, id });
});

test.each([
  ['wasmtime', '/usr/bin/containerd-shim-wasmtime-v1', ['-namespace', 'k8s.io', '-id', id, '-address', socket]],
  [
    'kata',
    '/opt/kata/bin/containerd-shim-kata-v2',
    ['-namespace', 'k8s.io', '-address', socket, '-publish-binary', '/usr/bin/containerd', '-id', id, '-debug'],
  ],
])('knows the shim of another runtime: %s', (_, other, args) => {
  expect(parseShimCommand([other, ...args], socket)).toEqual({ program: other, id });
});

test.each([
  ['of another containerd', [...command.slice(0, 6), '/r/containerd.sock2']],
  ['of another namespace', [program, '-namespace', 'moby', ...command.slice(3)]],
  ['that only starts another', [...command, 'start']],
  ['that only removes another', [...command.slice(0, 6), socket, '-bundle', '/b', 'delete']],
  ['whose id is none of a sandbox', [program, '-namespace', 'k8s.io', '-id', '../..', '-address', socket]],
  ['of another name', ['/usr/bin/vi', ...command.slice(1)]],
  ['that names itself like one only in part', ['/usr/bin/containerd-shim-x/v2', ...command.slice(1)]],
  ['with an argument that no shim has', [...command, '-exec', '/bin/sh']],
  ['with an argument twice', [...command, '-id', id]],
  ['without arguments', [program]],
])('does not take a process %s for one', (_, other) => {
  expect(parseShimCommand(other, socket)).toBeUndefined();
});

test('looks for shims among a hundred other processes without a buffer for each', async () => {
  const script = 'for (1..100) { if (!fork) { sleep 600; exit } } $| = 1; print "forked\\n"; sleep 600';
  const parent = spawn('perl', ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  onTestFinished(() => void process.kill(-(parent.pid ?? 0), 'SIGKILL'));
  await once(parent.stdout, 'data');
  const before = process.memoryUsage().arrayBuffers;
  let most = before;
  let isOver = false;
  const look = (): void => {
    most = Math.max(most, process.memoryUsage().arrayBuffers);
    if (!isOver) setImmediate(look);
  };
  look();
  await findShims(socket);
  isOver = true;
  expect(most - before).toBeLessThan(3 * 1024 * 1024);
});
