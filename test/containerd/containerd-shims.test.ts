import { expect, test } from 'vitest';
import { parseShimCommand } from '../../src/containerd/containerd-shims.ts';

const id = 'ab'.repeat(32);
const program = '/usr/bin/containerd-shim-runc-v2';
const socket = '/r/containerd.sock';
const command = [program, '-namespace', 'k8s.io', '-id', id, '-address', socket];

test('knows a shim of a containerd by its whole command line', () => {
  expect(parseShimCommand(command, socket)).toEqual({ program, id });
  expect(parseShimCommand([program, '-debug', ...command.slice(1)], socket)).toEqual({ program, id });
});

test.each([
  ['of another containerd', [...command.slice(0, 6), '/r/containerd.sock2']],
  ['of another namespace', [program, '-namespace', 'moby', ...command.slice(3)]],
  ['that only starts another', [...command, 'start']],
  ['that only removes another', [...command.slice(0, 6), socket, '-bundle', '/b', 'delete']],
  ['whose id is none of a sandbox', [program, '-namespace', 'k8s.io', '-id', '../..', '-address', socket]],
  ['of another name', ['/usr/bin/vi', ...command.slice(1)]],
  ['without arguments', [program]],
])('does not take a process %s for one', (_, other) => {
  expect(parseShimCommand(other, socket)).toBeUndefined();
});
