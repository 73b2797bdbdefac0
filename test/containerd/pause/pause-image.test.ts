import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, onTestFinished, test } from 'vitest';
import {
  computeImageArchitecture,
  pauseImageArchive,
  pausePrograms,
} from '../../../src/containerd/pause/pause-image.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const assemble = join(import.meta.dirname, '../../../src/containerd/pause/assemble');
const hasAssembler = process.arch === 'x64' && (await execa('as', ['--version'], { reject: false })).exitCode === 0;

if (hasAssembler) {
  test('the program in the tree is what its source assembles to', async () => {
    const file = join(await temporaryFolder(), 'pause');
    await execa(assemble, ['x86_64', file]);
    expect((await readFile(file)).toString('base64')).toBe(pausePrograms.amd64);
  });
}

/** The program of this machine, waiting for signals. `sh` runs first and may leave it a child. */
async function startPause(script = 'exec "$0"'): Promise<ChildProcess> {
  const file = join(await temporaryFolder(), 'pause');
  await writeFile(file, Buffer.from(pausePrograms[computeImageArchitecture(process.arch)], 'base64'), { mode: 0o755 });
  const child = spawn('sh', ['-c', script, file], { stdio: ['pipe', 'ignore', 'inherit'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  await until(async () => isWaiting(await readFile(`/proc/${String(child.pid)}/syscall`, 'utf8')));
  return child;
}

/** Number of rt_sigtimedwait, in which only the pause program sleeps. */
const sigtimedwait = process.arch === 'x64' ? '128' : '137';
const isWaiting = (syscall: string): boolean => syscall.startsWith(`${sigtimedwait} `);

/** /proc tells of no change by itself. */
async function until(isTrue: () => Promise<boolean>): Promise<void> {
  while (!(await isTrue()));
}

test.each(['SIGTERM', 'SIGINT'] as const)('the program ends with success at %s', async (signal) => {
  const pause = await startPause();
  pause.kill(signal);
  expect(await once(pause, 'exit')).toEqual([0, null]);
});

test('the program reaps children that it did not start', async () => {
  // sh leaves the pause program a cat that ends when we close its input; fd 3, as sh gives a background job no input.
  const pause = await startPause('exec 3<&0; cat <&3 >/dev/null & exec 3<&- </dev/null "$0"');
  const children = (): Promise<string> =>
    readFile(`/proc/${String(pause.pid)}/task/${String(pause.pid)}/children`, 'utf8');
  expect((await children()).trim()).toMatch(/^\d+$/);
  pause.stdin?.end();
  await until(async () => (await children()) === '');
  pause.kill('SIGTERM');
  expect(await once(pause, 'exit')).toEqual([0, null]);
});

test.each([
  ['x64', '"architecture":"amd64","os":"linux"'],
  ['arm64', '"architecture":"arm64","os":"linux"'],
  // containerd takes an image without a variant for one of v7, which older processors do not run.
  ['arm', '"architecture":"arm","variant":"v5","os":"linux"'],
  ['riscv64', '"architecture":"riscv64","os":"linux"'],
])('there is a pause image for %s', async (arch, platform) => {
  const archive = Buffer.from(await pauseImageArchive(arch));
  expect(archive.includes('"io.containerd.image.name":"localhost/kubelet-ts-pause:1"')).toBe(true);
  expect(archive.includes(platform)).toBe(true);
});

/** Machine types of ELF. */
test.each([
  ['amd64', 2, 62],
  ['arm64', 2, 183],
  ['arm', 1, 40],
  ['riscv64', 2, 243],
] as const)(
  'the program for %s is an executable of that machine, with all its bytes',
  (architecture, elfClass, machine) => {
    const program = Buffer.from(pausePrograms[architecture], 'base64');
    const fileSize = elfClass === 2 ? Number(program.readBigUInt64LE(64 + 32)) : program.readUInt32LE(52 + 16);
    expect([program[4], program.readUInt16LE(18), fileSize]).toEqual([elfClass, machine, program.length]);
  },
);

test('a processor without a pause program is a mistake that the user can put right', () => {
  expect(() => computeImageArchitecture('ppc64')).toThrow('no pause program for the processor architecture ppc64');
});
