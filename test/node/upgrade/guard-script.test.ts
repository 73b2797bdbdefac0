import { chmod, link, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { beforeEach, describe, expect, test } from 'vitest';
import { guardScript } from '../../../src/node/upgrade/guard-script.ts';
import {
  clearUpgradeState,
  markText,
  programFiles,
  readUpgradeState,
  trialStarts,
} from '../../../src/node/upgrade/program-files.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

describe.each([['sh'], ['dash'], ['bash --posix'], ['busybox ash']])('under %s', (shell) => {
  let folder: string;
  let program: string;

  beforeEach(async () => {
    folder = join(await temporaryFolder(), 'my programs');
    program = join(folder, 'kubelet-ts');
    await mkdir(folder);
    await write({ 'kubelet-ts': '#!/bin/sh\necho new "$@"\n', 'kubelet-ts.guard': guardScript });
  });

  async function write(files: Record<string, string>): Promise<void> {
    for (const [name, content] of Object.entries(files)) {
      await writeFile(join(folder, name), content);
      await chmod(join(folder, name), 0o755);
    }
  }

  async function guard(...command: string[]): Promise<{ stdout: string; stderr: string }> {
    const [first = '', ...rest] = shell.split(' ');
    const { stdout, stderr } = await execa(first, [...rest, programFiles(program).guard, program, ...command]);
    return { stdout, stderr };
  }

  const others = async (): Promise<string[]> =>
    (await readdir(folder)).filter((name) => name !== 'kubelet-ts' && name !== 'kubelet-ts.guard').sort();
  const quiet = { stdout: '', stderr: '' };

  test('without an upgrade nothing changes', async () => {
    await write({ 'kubelet-ts.previous': 'old' });
    expect(await guard()).toEqual(quiet);
    expect(await guard(program, 'run', 'a b')).toEqual({ stdout: 'new run a b', stderr: '' });
    expect(await others()).toEqual(['kubelet-ts.previous']);
  });

  test('three starts that never became healthy restore the previous program', async () => {
    const mark = programFiles(program).pending(trialStarts);
    await write({ 'kubelet-ts.previous': '#!/bin/sh\necho old "$@"\n' });
    await writeFile(mark, markText('0.1.0', '0.2.0'));
    for (const left of [2, 1, 0]) {
      expect(await guard(program, 'run')).toEqual({ stdout: 'new run', stderr: '' });
      expect(await others()).toEqual([`kubelet-ts.pending-${left}`, 'kubelet-ts.previous']);
      expect(await readUpgradeState(program)).toEqual({ kind: 'pending', from: '0.1.0', to: '0.2.0' });
    }
    expect(await guard(program, 'run')).toEqual({
      stdout: 'old run',
      stderr: `the upgrade of ${program} did not become healthy in three starts: restored the previous program`,
    });
    expect(await others()).toEqual(['kubelet-ts.restored']);
    expect(await readUpgradeState(program)).toEqual({ kind: 'restored', from: '0.1.0', to: '0.2.0' });
    expect(await guard(program, 'run')).toEqual({ stdout: 'old run', stderr: '' });
  });

  test('a program that became healthy stays', async () => {
    await write({ 'kubelet-ts.previous': 'old' });
    await writeFile(programFiles(program).pending(trialStarts), markText('0.1.0', '0.2.0'));
    await guard();
    await clearUpgradeState(program);
    for (let starts = 0; starts < 4; starts++) await guard();
    expect(await others()).toEqual(['kubelet-ts.previous']);
    expect(await readFile(program, 'utf8')).toContain('echo new');
  });

  test('a power cut after the previous program got its name back loses nothing', async () => {
    await write({ 'kubelet-ts': 'old' });
    await writeFile(programFiles(program).pending(0), markText('0.1.0', '0.2.0'));
    await guard();
    expect(await others()).toEqual(['kubelet-ts.restored']);
    expect(await readFile(program, 'utf8')).toBe('old');
  });

  test('an upgrade that was cut off before its program got its name is undone, too', async () => {
    await link(program, programFiles(program).previous);
    await writeFile(programFiles(program).pending(0), markText('0.1.0', '0.2.0'));
    expect(await guard(program, 'run')).toMatchObject({ stdout: 'new run' });
    expect(await others()).toContain('kubelet-ts.restored');
    expect(await readUpgradeState(program)).toMatchObject({ kind: 'restored' });
  });
});

test('a mark without versions is one too', async () => {
  const program = join(await temporaryFolder(), 'kubelet-ts');
  expect(await readUpgradeState(program)).toBeUndefined();
  await writeFile(programFiles(program).pending(2), '');
  expect(await readUpgradeState(program)).toEqual({
    kind: 'pending',
    from: 'an earlier release',
    to: 'another release',
  });
});
