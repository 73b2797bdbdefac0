import process from 'node:process';
import { expect, onTestFinished, test, vi } from 'vitest';
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
    'top accepts one pod, not "web db"',
  );
  expect(reads).toBe(0);
});

test.each([
  ['lgos', 'Did you mean kubelet-ts logs?'],
  ['pods', 'Use: kubelet-ts ps'],
  ['undo', 'Use: kubelet-ts rollback POD'],
  ['frobnicate', 'kubelet-ts --help lists all commands.'],
])('the unknown command %s is answered with the one that is meant', async (word, hint) => {
  await expect(runProgram(['node', 'kubelet-ts', word])).rejects.toMatchObject({
    message: `there is no command "${word}"`,
    hint,
  });
});

/** The output of a command line on one stream, and its exit code. */
async function outputOf(
  stream: 'stdout' | 'stderr',
  words: readonly string[],
): Promise<{ text: string; code: number }> {
  let output = '';
  const spy = vi.spyOn(process[stream], 'write').mockImplementation((text) => {
    output += String(text);
    return true;
  });
  onTestFinished(() => {
    spy.mockRestore();
  });
  const code = await runProgram(['node', 'kubelet-ts', ...words]);
  spy.mockRestore();
  return { text: output, code };
}

/** What a command line prints on stderr, and its exit code. */
async function refused(line: string): Promise<{ stderr: string; code: number }> {
  const { text: stderr, code } = await outputOf('stderr', line.split(' '));
  return { stderr, code };
}

test.each([
  ['the program', []],
  ['a group of commands', ['images']],
])('%s alone prints its help', async (_what, words) => {
  const help = await outputOf('stdout', [...words, '--help']);
  expect(help).toEqual({ text: expect.stringContaining('Commands:\n') as string, code: 0 });
  expect(await outputOf('stdout', words)).toEqual(help);
});

test.each([
  ['ps --al-namespaces', 'unknown flag: --al-namespaces', 'Did you mean --all-namespaces?', 1],
  ['get pods --al-namespaces', 'unknown flag: --al-namespaces', 'Did you mean --all-namespaces?', 1],
  ['images pull --paralel 2', 'unknown flag: --paralel', 'Did you mean --parallel?', 1],
  ['images lst', "unknown command 'lst'", 'Did you mean list or ls?', 1],
  ['images remve x', "unknown command 'remve'", undefined, 1],
  ['diff --outpt json', 'unknown flag: --outpt', 'Did you mean --output?', 2],
])('%s is answered with the flag or command that is meant', async (line, message, hint, code) => {
  const hintLine = hint === undefined ? '' : `hint: ${hint}\n`;
  expect(await refused(line)).toEqual({ stderr: `error: ${message}\n${hintLine}(see --help)\n`, code });
});

test.each([
  ['run --manifest-ur x', '--manifest-ur', 'Did you mean --manifest-url?', undefined],
  ['run-once --ste a=b -', '--ste', 'Did you mean --set?', undefined],
  ['validate --outpt json', '--outpt', 'Did you mean --output?', undefined],
  ['doctor --registri x', '--registri', 'Did you mean --registry?', 2],
  ['validate --nope', '--nope', 'kubelet-ts validate --help lists the flags.', undefined],
  ['run-once --no-tui -', '--no-tui', 'kubelet-ts run-once --help lists the flags.', undefined],
])('%s, which has flags of the kubelet, too', async (line, flag, hint, exitCode) => {
  await expect(refused(line)).rejects.toMatchObject({
    message: `unknown flag: ${flag}`,
    hint,
    ...(exitCode && { exitCode }),
  });
});

test('a value that an argument cannot have is answered with its choices', async () => {
  expect(await refused('completion tcsh')).toEqual({
    stderr: "error: argument 'tcsh' of <shell> is invalid. Allowed choices are bash, zsh, fish.\n(see --help)\n",
    code: 1,
  });
});

test('wait names every form of a condition', async () => {
  expect(await refused('wait web --for conditionReady')).toEqual({
    stderr:
      "error: option '--for <condition>' argument 'conditionReady' is invalid. " +
      'It must be ready, completed, updated, deleted, condition=TYPE[=VALUE] or jsonpath={PATH}[=VALUE].\n' +
      '(see --help)\n',
    code: 1,
  });
});

test.each(['ui', 'top -i'])('%s is the screen, which needs a terminal', async (line) => {
  vi.stubEnv('TERM', 'xterm');
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(refused(line)).rejects.toMatchObject({ message: 'the screen needs a terminal in its foreground' });
});

test('shows control characters of a wrong option as text', async () => {
  const written: string[] = [];
  const write = vi.spyOn(process.stderr, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  await runProgram(['node', 'kubelet-ts', 'ps', '--x\u001b[31m']).finally(() => {
    write.mockRestore();
  });
  expect(written.join('')).toBe('error: unknown flag: --x\\x1b[31m\n(see --help)\n');
});
