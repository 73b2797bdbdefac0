import process from 'node:process';
import { expect, onTestFinished, test } from 'vitest';
import { runProgram } from '../../src/commands/program.ts';

test('a command that reads no input leaves stdin alone', async () => {
  const own = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {};
  onTestFinished(() => {
    Object.defineProperty(process, 'stdin', own);
  });
  let reads = 0;
  const get = (): unknown => {
    reads += 1;
    return own.get?.call(process) ?? (own.value as unknown);
  };
  Object.defineProperty(process, 'stdin', { configurable: true, enumerable: true, get });
  await expect(runProgram(['node', 'kubelet-ts', 'top', 'web', 'db'])).rejects.toThrow(
    'top takes one pod, not "web db"',
  );
  expect(reads).toBe(0);
});

test.each([
  ['lgos', 'Did you mean kubelet-ts logs?'],
  ['pods', 'Did you mean kubelet-ts ps?'],
  ['version', 'Did you mean kubelet-ts --version?'],
  ['rollout', 'Did you mean kubelet-ts restart?'],
  ['frobnicate', 'kubelet-ts --help lists all commands.'],
])('the unknown command %s is answered with the one that is meant', async (word, hint) => {
  await expect(runProgram(['node', 'kubelet-ts', word])).rejects.toMatchObject({
    message: `there is no command "${word}"`,
    hint,
  });
});
