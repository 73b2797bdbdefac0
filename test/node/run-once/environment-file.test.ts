import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { expect, test } from 'vitest';
import { givenVariables } from '../../../src/node/run-once/environment-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const fileOf = async (text: string): Promise<string> => {
  const path = join(await temporaryFolder(), 'env');
  await writeFile(path, text);
  return path;
};

const pipeOf = async (): Promise<string> => {
  const path = join(await temporaryFolder(), 'pipe');
  await execa('mkfifo', [path]);
  return path;
};

const never = new AbortController().signal;

const variablesOf = (envFile: string, signal = never): Promise<Map<string, string>> =>
  givenVariables({ envFile: [envFile] }, {}, signal);

test('values are as they are, names take those of the environment, and later ones win', async () => {
  const file = await fileOf('# comment\n\nA=1 "two" # no comment\r\n  B=\nC\nMISSING\nD=file\n');
  expect([...(await givenVariables({ envFile: [file], env: ['D=flag=1', 'E'] }, { C: 'c', E: 'e' }, never))]).toEqual([
    ['A', '1 "two" # no comment'],
    ['B', ''],
    ['C', 'c'],
    ['D', 'flag=1'],
    ['E', 'e'],
  ]);
});

test('a mistake names file and line', async () => {
  const file = await fileOf('A=1\n1B=2\n');
  await expect(variablesOf(file)).rejects.toThrow(`${file}:2: "1B" is not the name of a variable`);
});

test('a file that cannot be read is an error', async () => {
  await expect(variablesOf('/nowhere/env')).rejects.toThrow('--env-file: /nowhere/env: no such file');
});

test('a pipe is read until its writer has ended', async () => {
  const pipe = await pipeOf();
  const given = variablesOf(pipe);
  await writeFile(pipe, 'A=1\nB=2\n');
  expect([...(await given)]).toEqual([
    ['A', '1'],
    ['B', '2'],
  ]);
});

test('an abort ends the wait for the writer of a pipe', async () => {
  const aborted = new AbortController();
  const given = variablesOf(await pipeOf(), aborted.signal);
  aborted.abort();
  await expect(given).rejects.toThrow('The operation was aborted');
});

test('a device without an end is refused', async () => {
  await expect(variablesOf('/dev/zero')).rejects.toThrow('--env-file: /dev/zero: it has more than 1 MiB');
});
