import { lstat, mkdir, readdir, readFile, readlink, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { type Header, pack } from 'tar-stream';
import { beforeEach, describe, expect, test } from 'vitest';
import { extractArchive, pointsOutside } from '../../../src/commands/copy/extract-archive.ts';
import { CopyReport } from '../../../src/commands/copy/copy-report.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { textStream } from './text-stream.ts';

let outside: string;
let target: string;

beforeEach(async () => {
  outside = await temporaryFolder();
  target = join(outside, 'target');
  await mkdir(target);
});

/** The runtime sends parts of about this size. */
const chunkBytes = 32 * 1024;

type TestEntry = Partial<Header> & { name: string; content?: string };

async function archiveOf(entries: readonly TestEntry[]): Promise<Buffer> {
  const archive = pack();
  for (const { content = '', ...header } of entries) archive.entry({ mtime: new Date(0), ...header }, content);
  archive.finalize();
  const chunks: Buffer[] = [];
  for await (const chunk of archive as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Extracts what a container sends for `/data` into `copy` of the target; resolves with the warnings. */
async function extractBytes(bytes: Buffer): Promise<string> {
  const stderr = textStream();
  const report = new CopyReport({ stderr, clock: new FakeClock() });
  const source = { folder: '/', name: 'data' };
  const chunks = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, index) =>
    bytes.subarray(index * chunkBytes, (index + 1) * chunkBytes),
  );
  const archive = Readable.from(chunks, { objectMode: false });
  await extractArchive(archive, source, { folder: target, name: 'copy' }, report);
  report.end();
  return stderr.text();
}

const extractEntries = async (...entries: TestEntry[]): Promise<string> => extractBytes(await archiveOf(entries));

describe('what a container may send', () => {
  test('files, folders and links, with permissions and times', async () => {
    const warnings = await extractEntries(
      { name: './data/', type: 'directory', mode: 0o750 },
      { name: './data/file', mode: 0o640, content: 'text', mtime: new Date(1_000_000) },
      { name: './data/link', type: 'symlink', linkname: 'file' },
      { name: './data/same', type: 'link', linkname: './data/file' },
    );
    const copy = join(target, 'copy');
    const file = await lstat(join(copy, 'file'));
    expect({
      warnings,
      folder: (await lstat(copy)).mode & 0o7777,
      file: [file.mode & 0o7777, file.mtimeMs, file.nlink],
      link: await readlink(join(copy, 'link')),
      same: await readFile(join(copy, 'same'), 'utf8'),
    }).toEqual({ warnings: '', folder: 0o750, file: [0o640, 1_000_000, 2], link: 'file', same: 'text' });
  });

  test('a single file takes the name of the target', async () => {
    await extractEntries({ name: 'data', content: 'text' });
    expect(await readFile(join(target, 'copy'), 'utf8')).toBe('text');
  });

  test('names of any length and language', async () => {
    const name = `${'é'.repeat(100)}/${'n'.repeat(255)}`;
    await extractEntries({ name: `data/${name}`, content: 'text' });
    expect(await readFile(join(target, 'copy', name), 'utf8')).toBe('text');
  });

  test('long runs of zeros become holes', async () => {
    await extractEntries({ name: 'data', content: '\0'.repeat(8_000_000) + 'end' });
    const { size, blocks } = await lstat(join(target, 'copy'));
    expect({ size, isSparse: blocks * 512 < 1_000_000 }).toEqual({ size: 8_000_003, isSparse: true });
  });

  test('links out of the copy are kept, with a warning', async () => {
    const warnings = await extractEntries({ name: 'data/link', type: 'symlink', linkname: '/etc/passwd' });
    expect(await readlink(join(target, 'copy/link'))).toBe('/etc/passwd');
    expect(warnings).toBe('warning: copy/link is a link to a path outside the copy: /etc/passwd\n');
  });

  test('devices and pipes are left out, with at most five warnings', async () => {
    const pipes = Array.from({ length: 7 }, (_, index) => ({ name: `data/${String(index)}`, type: 'fifo' as const }));
    const warnings = await extractEntries(...pipes);
    const lines = [0, 1, 2, 3, 4].map(
      (index) => `warning: skipped copy/${String(index)}: only files, folders and links are copied`,
    );
    expect(warnings.trim().split('\n')).toEqual([...lines, 'warning: 2 more']);
    expect(await readdir(target)).toEqual([]);
  });

  test('an older copy is replaced, and its links are not written through', async () => {
    await writeFile(join(outside, 'precious'), 'as before');
    await mkdir(join(target, 'copy'));
    await symlink(join(outside, 'precious'), join(target, 'copy/file'));
    await extractEntries({ name: 'data/file', content: 'new' });
    expect(await readFile(join(outside, 'precious'), 'utf8')).toBe('as before');
    expect(await readFile(join(target, 'copy/file'), 'utf8')).toBe('new');
  });

  test('files belong to the user of the command', async () => {
    await extractEntries({ name: 'data', uid: 1234, gid: 1234, content: 'text' });
    const { uid, gid } = await lstat(join(target, 'copy'));
    expect([uid, gid]).toEqual([process.getuid?.(), process.getgid?.()]);
  });

  test('set-user-ID bits are left out', async () => {
    await extractEntries({ name: 'data', mode: 0o6755, content: 'program' });
    expect((await lstat(join(target, 'copy'))).mode & 0o7777).toBe(0o755);
  });
});

describe('what a hostile container sends', () => {
  test.each<[string, TestEntry[], string]>([
    [
      'a name above',
      [{ name: 'data/../../evil' }],
      'the tar of the container sent data/../../evil, which is not in the source',
    ],
    [
      'an absolute name',
      [{ name: '/etc/evil' }],
      'the tar of the container sent /etc/evil, which is not in the source',
    ],
    [
      'a name in another source',
      [{ name: 'other/evil' }],
      'the tar of the container sent other/evil, which is not in the source',
    ],
    [
      'escapes of a terminal',
      [{ name: '\x1b[2Jevil' }],
      'the tar of the container sent \\x1b[2Jevil, which is not in the source',
    ],
    [
      'a file behind its own link',
      [
        { name: 'data/link', type: 'symlink', linkname: '../..' },
        { name: 'data/link/file', content: 'evil' },
      ],
      'copy/link leads through a link or a file',
    ],
    [
      'a folder behind its own link',
      [
        { name: 'data/link', type: 'symlink', linkname: '/' },
        { name: 'data/link/file/', type: 'directory' },
      ],
      'copy/link/file leads through a link or a file',
    ],
    [
      'a second name for a file above',
      [{ name: 'data/x', type: 'link', linkname: '../precious' }],
      'the tar of the container sent ../precious, which is not in the source',
    ],
    [
      'a second name through a link',
      [
        { name: 'data/link', type: 'symlink', linkname: '../..' },
        { name: 'data/x', type: 'link', linkname: 'data/link/precious' },
      ],
      'copy/link/precious leads through a link or a file',
    ],
    [
      'a file below a file',
      [
        { name: 'data', content: 'x' },
        { name: 'data/file', content: 'x' },
      ],
      'copy leads through a link or a file',
    ],
    [
      'folders without end',
      [{ name: `data/${'d/'.repeat(300)}`, type: 'directory' }],
      'folders are nested more than 256 deep',
    ],
  ])('%s ends the copy', async (_kind, entries, message) => {
    await writeFile(join(outside, 'precious'), 'as before');
    await expect(extractEntries(...entries)).rejects.toThrow(message);
    expect((await readdir(outside)).sort()).toEqual(['precious', 'target']);
    expect(await readFile(join(outside, 'precious'), 'utf8')).toBe('as before');
  });

  test('a folder in the place of a file stays', async () => {
    await mkdir(join(target, 'copy/file'), { recursive: true });
    await expect(extractEntries({ name: 'data/file', content: 'x' })).rejects.toThrow('copy/file is a folder here');
  });

  test('an archive that breaks off leaves no part of a file', async () => {
    const whole = await archiveOf([{ name: 'data', content: 'x'.repeat(10_000) }]);
    await expect(extractBytes(whole.subarray(0, 5000))).rejects.toThrow(
      'the tar of the container sent no valid archive',
    );
    expect(await readdir(target)).toEqual([]);
  });

  test('bytes that are no archive are an error', async () => {
    await expect(extractBytes(Buffer.alloc(2048, 'evil'))).rejects.toThrow('sent no valid archive: Invalid tar header');
  });

  test('a file that is larger than the disk is refused before it is written', async () => {
    const header = (await archiveOf([{ name: 'data', content: 'x' }])).subarray(0, 512);
    // 2 ** 60 bytes, in the binary form of GNU.
    header.fill(0, 124, 136).writeUInt8(0x80, 124);
    header.writeUInt8(0x10, 128);
    header.fill(' ', 148, 156);
    const sum = header.reduce((total, byte) => total + byte, 0);
    header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
    await expect(extractBytes(header)).rejects.toThrow('the copy would leave less than 5 % of the file system');
    expect(await readdir(target)).toEqual([]);
  });
});

test.each([
  [['a', 'link'], 'b', false],
  [['a', 'link'], '../b/./c', false],
  [['a', 'link'], '../../b', true],
  [['link'], '../x', true],
  [['link'], '/x', true],
  [['link'], 'a/../../link', true],
])('a link at %j to %s leads out: %s', (names, linkName, isOut) => {
  expect(pointsOutside(names, linkName)).toBe(isOut);
});
