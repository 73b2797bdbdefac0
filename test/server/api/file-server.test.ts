import { writeFileSync } from 'node:fs';
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ApiRig } from './api-rig.ts';

const written = 'Tue, 14 Nov 2023 22:13:20 GMT';
const before = 'Tue, 14 Nov 2023 22:13:19 GMT';
const writtenAt = 1_700_000_000;

interface Answer {
  status: string;
  /** Those that depend on the file. */
  headers: Record<string, string>;
  body: string;
}

type Ask = (path: string, ...headers: string[]) => Promise<Answer>;

const shownHeaders = ['last-modified', 'location', 'content-range', 'content-length', 'content-type'];

/** A server of the files in a folder, with `plain.log` of ten bytes. */
async function serveLogs(): Promise<{ folder: string; ask: Ask }> {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'plain.log'), '0123456789');
  await utimes(join(folder, 'plain.log'), writtenAt, writtenAt);
  const rig = await ApiRig.open({ systemLogs: folder });
  const client = await rig.authority.issue('carol');
  const ask = async (path: string, ...headers: string[]): Promise<Answer> => {
    const [head = '', ...body] = (await rig.ask(`GET /logs/${path}`, { client, headers })).split('\r\n\r\n');
    const [status = '', ...lines] = head.split('\r\n');
    const answer: Answer = { status: status.split(' ')[1] ?? '', headers: {}, body: body.join('\r\n\r\n') };
    for (const line of lines) {
      const name = line.replace(/:.*/, '').toLowerCase();
      if (shownHeaders.includes(name)) answer.headers[name] = line.replace(/^[^:]*: /, '');
    }
    return answer;
  };
  return { folder, ask };
}

const text = { 'content-type': 'text/x-log; charset=utf-8', 'last-modified': written };
const whole: Answer = { status: '200', headers: { ...text, 'content-length': '10' }, body: '0123456789' };
const part: Answer = {
  status: '206',
  headers: { ...text, 'content-length': '3', 'content-range': 'bytes 7-9/10' },
  body: '789',
};
const unchanged: Answer = { status: '304', headers: { 'last-modified': written }, body: '' };

test.each<[string, string[], Answer]>([
  ['a range', ['Range: bytes=7-9'], part],
  ['a range to the end', ['Range: bytes=7-'], part],
  ['the last bytes', ['Range: bytes=-3'], part],
  ['a range past the end', ['Range: bytes=7-99999999999999999999'], part],
  ['several ranges', ['Range: bytes=0-1,4-5'], whole],
  ['an invalid range', ['Range: bytes=5-4'], whole],
  ['a range on a condition', ['Range: bytes=7-', `If-Range: ${written}`], whole],
  ['what changed since', [`If-Modified-Since: ${before}`], whole],
  ['what changed since, with a tag', ['If-None-Match: "a"', `If-Modified-Since: ${written}`], whole],
  ['what did not change since', [`If-Modified-Since: ${written}`], unchanged],
])('answers a request for %s', async (_what, headers, expected) => {
  const { ask } = await serveLogs();
  expect(await ask('plain.log', ...headers)).toEqual(expected);
});

test('refuses a range that begins after the end', async () => {
  const { ask } = await serveLogs();
  const { status, headers } = await ask('plain.log', 'Range: bytes=10-');
  expect([status, headers['content-range']]).toEqual(['416', 'bytes */10']);
});

test('an unchanged folder is answered without its time', async () => {
  const { ask } = await serveLogs();
  const answer = await ask('', 'If-Modified-Since: Wed, 21 Oct 2099 07:28:00 GMT');
  expect(answer).toEqual({ status: '304', headers: {}, body: '' });
});

test('names of a folder are sorted without their slash, and their links are escaped as in Go', async () => {
  const { folder, ask } = await serveLogs();
  await mkdir(join(folder, 'plain'));
  for (const name of ['*', "a!'()*", 'b:c&d', 'e?f#g[h]', '\u{1f600}', '\uffee'])
    await writeFile(join(folder, name), '');
  const { body } = await ask('');
  expect(body.split('\n').slice(3, -2)).toEqual([
    '<a href="*">*</a>',
    '<a href="a%21%27%28%29%2A">a!&#39;()*</a>',
    '<a href="./b:c&d">b:c&amp;d</a>',
    '<a href="e%3Ff%23g%5Bh%5D">e?f#g[h]</a>',
    '<a href="plain/">plain/</a>',
    '<a href="plain.log">plain.log</a>',
    '<a href="%EF%BF%AE">\uffee</a>',
    '<a href="%F0%9F%98%80">\u{1f600}</a>',
  ]);
});

test('a folder with very many names is listed with the first of them', async () => {
  const { folder, ask } = await serveLogs();
  const many = join(folder, 'many');
  await mkdir(many);
  const names = Array.from({ length: 10_050 }, (_, index) => `${100_000 + index}.log`);
  // In neither order, whichever of them the file system returns.
  for (const name of [...names.slice(5000), ...names.slice(0, 5000)]) writeFileSync(join(many, name), '');
  const { body } = await ask('many/');
  const shown = names.slice(0, 10_000).map((name) => `<a href="${name}">${name}</a>`);
  expect(body.split('\n').slice(3, -2)).toEqual(shown);
});

test('redirects are not escaped', async () => {
  const { folder, ask } = await serveLogs();
  await mkdir(join(folder, 'with space'));
  await mkdir(join(folder, 'ä'));
  await mkdir(join(folder, 'line\nend\u0001'));
  const to = (location: string): Answer => ({ status: '301', headers: { location, 'content-length': '0' }, body: '' });
  expect([
    await ask('with%20space?a=b'),
    await ask('with%20space?'),
    await ask('%C3%A4'),
    await ask('line%0Aend%01'),
    await ask('plain.log/'),
    await ask('with%20space/%2e%2e'),
  ]).toEqual([to('with space/?a=b'), to('with space/'), to('ä/'), to('line end%01/'), to('../plain.log'), to('../')]);
});

test('the decoded path decides, within the folder', async () => {
  const { folder, ask } = await serveLogs();
  await mkdir(join(folder, 'sub'));
  await writeFile(join(folder, 'sub', 'inner.log'), 'inner');
  await symlink('sub', join(folder, 'link'));
  const bodies = [];
  for (const path of ['sub%2Finner.log', 'sub/%2e%2e/plain.log', '%2e%2e/%2e%2e/plain.log', 'link/%2e/inner.log']) {
    const { status, body } = await ask(path);
    bodies.push(`${status} ${body}`);
  }
  expect(bodies).toEqual(['200 inner', '200 0123456789', '200 0123456789', '200 inner']);
  expect((await ask('..%2f..%2fetc%2fhostname')).status).toBe('404');
});

test('a name that is too long for a file system is a failure, and no missing file', async () => {
  const { ask } = await serveLogs();
  const answers = await Promise.all(['none', 'plain.log/none', 'x'.repeat(300)].map((path) => ask(path)));
  expect(answers.map(({ status, body }) => `${status} ${body}`)).toEqual([
    '404 404 page not found\n',
    '404 404 page not found\n',
    '500 500 Internal Server Error\n',
  ]);
});
