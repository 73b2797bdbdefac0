import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { readELFHeader } from '../../../src/node/upgrade/elf-header.ts';
import { refuseForeignProgram } from '../../../src/node/upgrade/refuse-foreign-program.ts';

/** An executable for Linux with one segment, which names the loader of its libc. */
function makeProgram({ machine = 0x3e, loader = '/lib64/ld-linux-x86-64.so.2', isLong = true, isLittle = true } = {}) {
  const bytes = Buffer.alloc(256);
  bytes.write('\u007FELF', 'latin1');
  bytes.set([isLong ? 2 : 1, isLittle ? 1 : 2], 4);
  const half = (value: number, at: number) =>
    isLittle ? bytes.writeUInt16LE(value, at) : bytes.writeUInt16BE(value, at);
  const word = (value: number, at: number) =>
    isLittle ? bytes.writeUInt32LE(value, at) : bytes.writeUInt32BE(value, at);
  const address = (value: number, at: number) => (isLong ? word(value, isLittle ? at : at + 4) : word(value, at));
  half(machine, 18);
  address(64, isLong ? 32 : 28);
  address(192, isLong ? 40 : 32);
  [isLong ? 56 : 32, 1, 64, 1].forEach((value, index) => half(value, (isLong ? 54 : 42) + 2 * index));
  word(3, 64);
  address(128, 64 + (isLong ? 8 : 4));
  address(loader.length + 1, 64 + (isLong ? 32 : 16));
  bytes.write(loader, 128, 'latin1');
  return bytes;
}

const own = { machine: 'x86_64', loader: '/lib64/ld-linux-x86-64.so.2', minBytes: 256 };
const musl = '/lib/ld-musl-x86_64.so.1';

test('reads the header of the program that runs this test', async () => {
  const content = await readFile(process.execPath);
  const { machine, loader, minBytes } = readELFHeader(content) ?? {};
  expect({
    machine,
    isLoader: /^\/lib.*\/ld-.*\.so\.\d$/.test(loader ?? ''),
    isWhole: minBytes === content.length,
  }).toEqual({ machine: { x64: 'x86_64', arm64: 'aarch64' }[process.arch as string], isLoader: true, isWhole: true });
});

test.each([
  { isLong: true, isLittle: true },
  { isLong: false, isLittle: true },
  { isLong: true, isLittle: false },
  { isLong: false, isLittle: false },
])('reads headers of every kind: %j', (kind) => {
  expect(readELFHeader(makeProgram(kind))).toEqual(own);
});

test.each([
  ['a web page', Buffer.from('<html>'.repeat(100)), 'new is not an executable of Linux'],
  ['nothing', Buffer.alloc(0), 'new is not an executable of Linux'],
  ['a file cut in half', makeProgram().subarray(0, 200), 'new is cut off: it has 200 of at least 256 bytes'],
  ['a header without its segments', makeProgram().subarray(0, 64), 'new is cut off: it has 64 of at least 256 bytes'],
  ['another processor', makeProgram({ machine: 0xb7 }), 'new is for aarch64, and this machine has x86_64'],
  ['an unknown processor', makeProgram({ machine: 0x99 }), 'new is for processor 153, and this machine has x86_64'],
  ['another libc', makeProgram({ loader: musl }), `new needs musl, and this machine has no ${musl}`],
])('refuses %s', (_what, content, message) => {
  expect(() => {
    refuseForeignProgram(content, 'new', own, () => false);
  }).toThrow(expect.objectContaining({ name: 'UserError', message }));
});

test.each([
  ['the same loader', makeProgram(), false],
  ['a loader that this machine has too', makeProgram({ loader: musl }), true],
])('accepts %s', (_what, content, hasFile) => {
  expect(() => {
    refuseForeignProgram(content, 'new', own, () => hasFile);
  }).not.toThrow();
});
