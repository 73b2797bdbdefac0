import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { markText, programFiles, readUpgradeState } from '../../../src/node/upgrade/program-files.ts';
import { replaceProgram, writeNext } from '../../../src/node/upgrade/replace-program.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const { signal } = new AbortController();
let folder: string;
let program: string;

beforeEach(async () => {
  folder = await temporaryFolder();
  program = join(folder, 'kubelet-ts');
  await writeFile(program, 'first');
});

async function files(): Promise<Record<string, string>> {
  const names = await readdir(folder);
  const contents = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, contents[index] ?? '']));
}

test('the old program is kept, and the new one is on trial', async () => {
  await writeFile(programFiles(program).previous, 'earlier');
  await writeFile(programFiles(program).restored, markText('0.0.9', '0.1.0'));
  await writeNext(program, Buffer.from('second'));
  expect(await replaceProgram(program, '0.1.0', '0.2.0', signal)).toBe('0.1.0');
  expect(await files()).toEqual({
    'kubelet-ts': 'second',
    'kubelet-ts.previous': 'first',
    'kubelet-ts.pending-3': '0.1.0 0.2.0\n',
  });
});

test('a program that never became healthy is replaced, and the one before it is kept', async () => {
  await writeNext(program, Buffer.from('broken'));
  await replaceProgram(program, '0.1.0', '0.2.0', signal);
  await rename(programFiles(program).pending(3), programFiles(program).pending(1));
  await writeNext(program, Buffer.from('third'));
  expect(await replaceProgram(program, '0.2.0', '0.3.0', signal)).toBe('0.1.0');
  expect(await files()).toEqual({
    'kubelet-ts': 'third',
    'kubelet-ts.previous': 'first',
    'kubelet-ts.pending-3': '0.1.0 0.3.0\n',
  });
});

test('a program that cannot be replaced leaves neither a mark nor the new one', async () => {
  const where = join(folder, 'kubelet-ts');
  await writeNext(program, Buffer.from('second'));
  await mkdir(join(programFiles(program).previous, 'full'), { recursive: true });
  await expect(replaceProgram(program, '0.1.0', '0.2.0', signal)).rejects.toThrow(`${where} cannot be written`);
  expect(await readdir(folder)).toEqual(['kubelet-ts', 'kubelet-ts.previous']);
  expect(await readFile(program, 'utf8')).toBe('first');
});

test('an upgrade that is interrupted during the trial changes nothing', async () => {
  await writeNext(program, Buffer.from('second'));
  const stopped = AbortSignal.abort(new Error('stopped by SIGINT'));
  await expect(replaceProgram(program, '0.1.0', '0.2.0', stopped)).rejects.toThrow('stopped by SIGINT');
  expect(await files()).toEqual({ 'kubelet-ts': 'first' });
});

test('a mark that the guard renames meanwhile is not missed', async () => {
  const { pending } = programFiles(program);
  for (let round = 0; round < 200; round++) {
    await writeFile(pending(3), markText('0.1.0', '0.2.0'));
    const states = Promise.all(Array.from({ length: 8 }, () => readUpgradeState(program)));
    for (const left of [2, 1, 0]) await rename(pending(left + 1), pending(left));
    expect(new Set((await states).map((state) => state?.kind))).toEqual(new Set(['pending']));
  }
});
