import { EventEmitter, once } from 'node:events';
import { expect, test } from 'vitest';
import type { ApiRuntime } from '../../../src/server/api/api-engine.ts';
import type { ExecSyncAnswer } from '../../../src/cri/runtime-service.ts';
import { ApiRig } from './api-rig.ts';

const words = (text: string): Buffer => Buffer.from(text);

async function run(answer: Partial<ExecSyncAnswer>): Promise<string> {
  const execSync = () => Promise.resolve({ stdout: words(''), stderr: words(''), exitCode: 0, ...answer });
  const rig = await ApiRig.open({ runtime: { execSync } });
  return rig.short('POST /run/default/web/a?cmd=ls', { client: await rig.authority.issue('carol') });
}

test('a command answers with all its output, also with more than a probe may have', async () => {
  const stdout = Buffer.alloc(3_000_000, 'o');
  const body = (await run({ stdout, stderr: words('err') })).slice('200 '.length);
  expect([body.length, body.slice(-4)]).toEqual([3_000_003, 'oerr']);
});

test('output that is longer than a message of the runtime fails as in the kubelet', async () => {
  expect(await run({ stdout: Buffer.alloc(16 * 1024 * 1024), leftOutBytes: 1 })).toBe(
    '500 rpc error: code = ResourceExhausted desc = grpc: received message larger than max (16777217 vs. 16777216)',
  );
});

test('a command that fails answers with its exit code and its stderr', async () => {
  expect(await run({ stdout: words('out'), stderr: words('no'), exitCode: 3 })).toBe(
    "500 command 'ls' exited with 3: no",
  );
});

test.each([
  { query: '?cmd=ls+-l', type: '', body: '', ran: ['ls', '-l'] },
  { query: '', type: 'application/x-www-form-urlencoded', body: 'cmd=echo+hi', ran: [''] },
  { query: '?cmd=ls', type: 'application/x-www-form-urlencoded', body: 'a=1&cmd=echo%20hi', ran: ['ls'] },
  { query: '?cmd=ls', type: 'application/x-www-form-urlencoded', body: `cmd=${'x'.repeat(70_000)}`, ran: ['ls'] },
  {
    query: '',
    type: 'multipart/form-data; boundary=b',
    body: '--b\r\nContent-Disposition: form-data; name="cmd"\r\n\r\necho hi\r\n--b--\r\n',
    ran: [''],
  },
])('a command comes from the query alone: row %#', async ({ query, type, body, ran }) => {
  const seen: unknown[] = [];
  const execSync: ApiRuntime['execSync'] = ({ cmd } = {}) => {
    seen.push(cmd);
    return Promise.resolve({ stdout: words('ran'), stderr: words(''), exitCode: 0 });
  };
  const rig = await ApiRig.open({ runtime: { execSync } });
  const client = await rig.authority.issue('carol');
  const asked = type === '' ? { headers: ['Content-Length: 0'] } : { headers: [`Content-Type: ${type}`], body };
  const answer = await rig.short(`POST /run/default/web/a${query}`, { client, ...asked });
  expect({ answer, seen }).toEqual({ answer: '200 ran', seen: [ran] });
});

test('a command ends with the connection of its client', async () => {
  const commands = new EventEmitter();
  const execSync: ApiRuntime['execSync'] = (_request, { signal } = {}) => {
    signal?.addEventListener('abort', () => commands.emit('end'));
    commands.emit('start');
    return new Promise(() => undefined);
  };
  const rig = await ApiRig.open({ runtime: { execSync } });
  const socket = await rig.connect(await rig.authority.issue('carol'));
  const [started, ended] = [once(commands, 'start'), once(commands, 'end')];
  socket.write('POST /run/default/web/a?cmd=sleep+9 HTTP/1.1\r\nHost: node\r\nContent-Length: 0\r\n\r\n');
  await started;
  socket.destroy();
  expect(await ended).toEqual([]);
});
