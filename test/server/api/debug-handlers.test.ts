import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { once } from 'node:events';
import { join } from 'node:path';
import { get } from 'node:https';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { execa } from 'execa';
import { Profile } from 'pprof-format';
import { expect, onTestFinished, test } from 'vitest';
import { cpuSeconds } from '../../../src/server/api/pprof.ts';
import { journalArguments } from '../../../src/server/api/service-logs.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { ApiRig } from './api-rig.ts';

test.each(['profile', 'trace', 'heap', 'allocs'])('the %s of this process is one that pprof reads', async (name) => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const path = `/debug/pprof/${name}?seconds=1`;
  const asked = get({ host: '127.0.0.1', port: rig.port, path, rejectUnauthorized: false, ...client });
  // Something to see.
  const kept: string[] = [];
  const busy = setInterval(() => kept.push(JSON.stringify(Array.from({ length: 5000 }, String))), 5);
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  clearInterval(busy);
  const profile = Profile.decode(gunzipSync(await buffer(answer)));
  const names = profile.function.map((one) => profile.stringTable.strings[Number(one.name)]);
  expect(profile.sample.length).toBeGreaterThan(0);
  expect(names.every((one) => one !== undefined && one !== '')).toBe(true);
  const units = profile.sampleType.map((one) => profile.stringTable.strings[Number(one.type)]);
  expect(units).toEqual(name === 'profile' || name === 'trace' ? ['samples', 'cpu'] : ['inuse_space']);
});

test.each([
  ['', 30, 1],
  ['5', 5, 5],
  ['+5', 5, 5],
  ['0.5', 30, 0.5],
  ['.5e1', 30, 5],
  ['-5', 30, 1],
  ['x', 30, 1],
  ['99999999999999999999', 30, 1e20],
  ['1e999', 30, 1],
])('seconds "%s" are %d of a profile and %d of a trace, as in Go', (text, profile, trace) => {
  expect([cpuSeconds('profile', text), cpuSeconds('trace', text)]).toEqual([profile, trace]);
});

test('a profile of as long as an answer may take is refused', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const paths = ['profile', 'trace', 'heap'].map((name) => `/debug/pprof/${name}?seconds=14400`);
  const answers = await Promise.all(paths.map((path) => rig.short(`GET ${path}`, { client })));
  expect(answers).toEqual(Array<string>(3).fill("400 profile duration exceeds server's WriteTimeout\n"));
});

test('a heap without a time is that of one second', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const askedAt = performance.now();
  expect((await rig.short('GET /debug/pprof/heap', { client })).slice(0, 3)).toBe('200');
  expect(performance.now() - askedAt).toBeGreaterThan(990);
});

test.each(['block', 'mutex', 'threadcreate'])('the profile %s is empty', async (name) => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const path = `/debug/pprof/${name}`;
  const asked = get({ host: '127.0.0.1', port: rig.port, path, rejectUnauthorized: false, ...client });
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  expect(Profile.decode(gunzipSync(await buffer(answer))).sample).toEqual([]);
});

test('the command line has no arguments of the command', async () => {
  const { argv } = process;
  onTestFinished(() => {
    process.argv = argv;
  });
  process.argv = ['node', 'kubelet-ts', 'run', '--manifest-url', 'https://box.example/?token=secret'];
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  expect(await rig.short('GET /debug/pprof/cmdline', { client })).toBe('200 node\0kubelet-ts\0run');
});

test('one profile is taken at a time', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const answers = await Promise.all(
    ['/debug/pprof/profile?seconds=1', '/debug/pprof/heap'].map((path) => rig.short(`GET ${path}`, { client })),
  );
  expect(answers.map((answer) => answer.slice(0, 3)).sort()).toEqual(['200', '500']);
});

test('a client that leaves during its profile is not a fault, and the next profile is taken', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  // Loads what takes profiles, so that the next one begins at once.
  await rig.short('GET /debug/pprof/block', { client });
  const socket = await rig.connect(client);
  const asked = once(rig.secure.server, 'request');
  socket.write('GET /debug/pprof/profile?seconds=600 HTTP/1.1\r\nHost: node\r\n\r\n');
  await asked;
  socket.destroy();
  await rig.untilClosed();
  const next = await rig.short('GET /debug/pprof/block', { client });
  expect([next.slice(0, 3), rig.problems]).toEqual(['200', []]);
});

test('the log level is set over the API', async () => {
  const levels: number[] = [];
  const rig = await ApiRig.open({ setVerbosity: (level) => levels.push(level) });
  const client = await rig.authority.issue('carol');
  const put = (body: string): Promise<string> => rig.short('PUT /debug/flags/v', { client, body });
  const outOfRange = (text: string): string =>
    `400 failed set klog.logging.verbosity ${text}: strconv.ParseInt: parsing "${text}": value out of range\n`;
  expect(await Promise.all(['4', '2147483647', '2147483648', '4294967295', '-1', '4294967296'].map(put))).toEqual([
    '200 successfully set klog.logging.verbosity to 4\n',
    '200 successfully set klog.logging.verbosity to 2147483647\n',
    outOfRange('2147483648'),
    outOfRange('4294967295'),
    '400 strconv.ParseUint: parsing "-1": invalid syntax\n',
    '400 strconv.ParseUint: parsing "4294967296": value out of range\n',
  ]);
  expect(levels).toEqual([4, 2147483647]);
});

test('a level that is too long is refused, and the answer ends the connection', async () => {
  const rig = await ApiRig.open();
  const socket = await rig.connect(await rig.authority.issue('carol'));
  socket.on('error', () => undefined);
  const closed = once(socket, 'close');
  const digits = '0'.repeat(5000);
  socket.write(`PUT /debug/flags/v HTTP/1.1\r\nHost: node\r\nContent-Length: 5000\r\n\r\n${digits}`);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString().match(/HTTP.*|connection: .*/gi)).toEqual(['HTTP/1.1 400 Bad Request', 'connection: close']);
  await closed;
});

test('system logs are regular files alone, in parts where asked, and not again where unchanged', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'a'));
  await writeFile(join(folder, 'plain.log'), '0123456789');
  await utimes(join(folder, 'plain.log'), 1_700_000_000, 1_700_000_000);
  await symlink('plain.log', join(folder, 'link'));
  await execa('mkfifo', [join(folder, 'pipe')]);
  const rig = await ApiRig.open({ systemLogs: folder });
  const client = await rig.authority.issue('carol');
  const ask = (path: string, ...headers: string[]): Promise<string> =>
    rig.short(`GET /logs/${path}`, { client, headers });
  expect({
    whole: await ask('link'),
    end: await ask('plain.log', 'Range: bytes=-3'),
    beyond: await ask('plain.log', 'Range: bytes=10-'),
    malformed: await ask('plain.log', 'Range: bytes=a'),
    tooMuch: await ask('plain.log', 'Range: bytes=0-8,4-9'),
    unchanged: await ask('plain.log', 'If-Modified-Since: Tue, 14 Nov 2023 22:13:20 GMT'),
    pipe: await ask('pipe'),
    outside: await ask('..%2f..%2fetc%2fhostname'),
  }).toEqual({
    whole: '200 0123456789',
    end: '206 789',
    beyond: '416 invalid range: failed to overlap\n',
    malformed: '200 0123456789',
    tooMuch: '200 0123456789',
    unchanged: '304 ',
    pipe: '500 500 Internal Server Error\n',
    outside: '404 404 page not found\n',
  });
});

test('a file of the system logs is found by an encoded slash too', async () => {
  const folder = await temporaryFolder();
  await mkdir(join(folder, 'sub'));
  await writeFile(join(folder, 'sub', 'inner.log'), 'inner');
  const rig = await ApiRig.open({ systemLogs: folder });
  const client = await rig.authority.issue('carol');
  const paths = ['sub/inner.log', 'sub%2Finner.log', 'sub%2f%2finner.log', '%2F..%2Fsub%2f..%2F..%2fetc%2Fhostname'];
  const answers = await Promise.all(paths.map((path) => rig.short(`GET /logs/${path}`, { client })));
  expect(answers).toEqual(['200 inner', '200 inner', '200 inner', '404 404 page not found\n']);
});

test('logs of services come from the journal, as the kubelet asks it', () => {
  const query = {
    services: ['containerd', 'sshd'],
    files: [],
    sinceTime: new Date('2024-01-02T03:04:05Z'),
    tailLines: 7,
    boot: -1,
    pattern: 'a b',
  };
  expect(journalArguments(query)).toEqual([
    ...['--utc', '--no-pager', '--output=short-precise', '--since=2024-01-02 03:04:05', '--pager-end', '--lines=7'],
    ...['--unit=containerd', '--unit=sshd', '--grep=a b', '--boot', '-1'],
  ]);
});
