import { readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readELFHeader } from '../../../src/node/upgrade/elf-header.ts';
import { isProgram, readHeaderOf } from '../../../src/node/upgrade/own-program-file.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

test('a program is compared with the content of another', async () => {
  const file = join(await temporaryFolder(), 'kubelet-ts');
  const content = Buffer.alloc(200_000, 'abc');
  await writeFile(file, content);
  expect(await isProgram(file, content)).toBe(true);
  expect(await isProgram(file, content.subarray(1))).toBe(false);
  expect(await isProgram(file, content.subarray(0, -1))).toBe(false);
  expect(await isProgram(file, Buffer.concat([content, Buffer.from('\n')]))).toBe(false);
});

test('its header is read without the rest', async () => {
  const file = await realpath('/bin/sh');
  const { machine, loader } = readELFHeader(await readFile(file)) ?? {};
  expect(await readHeaderOf(file)).toMatchObject({ machine, loader });
  const script = join(await temporaryFolder(), 'kubelet-ts');
  await writeFile(script, '#!/bin/sh\n');
  expect(await readHeaderOf(script)).toBeUndefined();
});
