import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { parseTokens, TokenUsers } from '../../../src/server/api/token-file.ts';
import { FakeStreamingServer } from '../../fakes/fake-streaming-server.ts';
import { type Certificate, CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { isProbedWithin } from '../is-probed-within.ts';
import { ApiRig, engineWith, web, openReadOnly } from './api-rig.ts';

test('every kind of credentials gets the status of the kubelet', async () => {
  const tokens = new TokenUsers(parseTokens('good,anna,1\nother,bob,2,"readers"', 'tokens.csv'));
  const rules = [{ users: ['anna', 'carol'], groups: [], verbs: ['get'], resources: ['nodes/pods'] }];
  const rig = await ApiRig.open({ tokens, access: { authorization: { kind: 'policy', rules } } });
  const past = new Date('2024-01-01T00:00:00Z');
  const carol = await rig.authority.issue('carol');
  const expired = await rig.authority.issue('carol', { notBefore: past, notAfter: new Date('2024-02-01T00:00:00Z') });
  const stranger = await (await CertificateAuthority.make('others')).issue('carol');
  const bearer = (token: string): { headers: string[] } => ({ headers: [`Authorization: Bearer ${token}`] });
  const status = async (...asked: Parameters<ApiRig['short']>): Promise<string> =>
    (await rig.short(...asked)).slice(0, 3);
  const get = 'GET /runningpods/';
  expect({
    none: await status(get),
    valid: await status(get, { client: carol }),
    validToken: await status(get, bearer('good')),
    wrongCA: await status(get, { client: stranger }),
    expired: await status(get, { client: expired }),
    garbage: await status(get, bearer('garbage')),
    empty: await status(get, bearer('')),
    basic: await status(get, { headers: ['Authorization: Basic YTpi'] }),
    notAllowed: await rig.short('POST /run/default/web/a?cmd=ls', { client: carol }),
    notAllowedToken: await rig.short(get, bearer('other')),
    unknown: await rig.short('GET /nosuch'),
    moved: await rig.short('GET /runningpods'),
  }).toEqual({
    none: '401',
    valid: '200',
    validToken: '200',
    wrongCA: '401',
    expired: '401',
    garbage: '401',
    empty: '401',
    basic: '401',
    notAllowed: '403 Forbidden (user=carol, verb=create, resource=nodes, subresource(s)=[proxy])\n',
    notAllowedToken: '403 Forbidden (user=bob, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
    unknown: '404 404 page not found\n',
    moved: '307 <a href="/runningpods/">Temporary Redirect</a>.\n\n',
  });
});

test('a certificate has the groups of its organizations', async () => {
  const rules = [{ users: [], groups: ['readers'], verbs: ['get'], resources: ['nodes/pods'] }];
  const rig = await ApiRig.open({ access: { authorization: { kind: 'policy', rules } } });
  const member = await rig.authority.issue('erin', { organizations: ['writers', 'readers'] });
  const other = await rig.authority.issue('erin', { organizations: ['writers'] });
  const answers = [await rig.short('GET /pods', { client: member }), await rig.short('GET /pods', { client: other })];
  expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['200', '403']);
});

test('metrics need their own right, and come in the format of Prometheus', async () => {
  const rules = [{ users: ['carol'], groups: [], verbs: ['get'], resources: ['nodes/metrics'] }];
  const rig = await ApiRig.open({ access: { authorization: { kind: 'policy', rules } } });
  const client = await rig.authority.issue('carol');
  const paths = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes', '/metrics/', '/pods'];
  const answers = await Promise.all(paths.map((path) => rig.short(`GET ${path}`, { client })));
  expect(answers).toEqual([
    '200 # metrics of /metrics\n',
    '200 # metrics of /metrics/cadvisor\n',
    '200 # metrics of /metrics/resource\n',
    '200 # metrics of /metrics/probes\n',
    '404 404 page not found\n',
    '403 Forbidden (user=carol, verb=get, resource=nodes, subresource(s)=[pods proxy])\n',
  ]);
  const head = await rig.ask('GET /metrics', { client });
  expect(head).toContain('content-type: text/plain; version=0.0.4; charset=utf-8; escaping=underscores\r\n');
  expect(head).toMatch(/\r\nprocess-start-time-unix: \d{10}\r\n/);
});

test('the read-only port shows pods and metrics, and runs nothing', async () => {
  const { port, counts } = await openReadOnly();
  const ask = async (method: string, path: string): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { connection: 'close' } });
    return `${answer.status} ${(await answer.text()).slice(0, 30)}`;
  };
  expect(await ask('GET', '/metrics/resource')).toBe('200 # metrics of /metrics/resource');
  expect(await ask('GET', '/pods')).toContain('200 {"kind":"PodList"');
  expect(await ask('POST', '/run/default/web/a?cmd=ls')).toBe('405 Debug endpoints are disabled.\n');
  expect(await ask('GET', '/exec/default/web/a?command=ls&output=1')).toBe('405 Debug endpoints are disabled.\n');
  await ask('GET', '/any/path');
  const [, , total] = counts.families();
  expect([...(total?.samples ?? [])].map(({ labels, value }) => [...Object.values(labels), value].join(' '))).toEqual([
    'GET metrics/resource readonly false 1',
    'GET pods readonly false 1',
    'POST run readonly false 1',
    'GET exec readonly true 1',
    'GET other readonly false 1',
  ]);
});

test('connections are probed as those of Go, so that a client that was removed does not keep one', async () => {
  const { secure } = await ApiRig.open();
  const { server: readOnly } = await openReadOnly();
  const probed: boolean[] = [];
  for (const server of [secure.server, readOnly]) {
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [connection] = await accepted;
    probed.push(isProbedWithin(connection, 15));
    client.destroy();
  }
  expect(probed).toEqual([true, true]);
});

test('texts of a client are quoted as in Go', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const ask = (line: string, body = ''): Promise<string> => rig.short(line, { client, body });
  const checks = ['ping', 'log', 'syncloop', 'device-plugin'].map((name) => `[+]${name} ok\n`).join('');
  expect([
    await ask('GET /containerLogs/default/web%1b/a'),
    await ask('GET /containerLogs/default/web/%07'),
    await ask('POST /run/default/web/%7f?cmd=ls'),
    await ask('POST /exec/default/web/%c2%85?output=1'),
    await ask('GET /healthz?verbose&exclude=%1b'),
    await ask('PUT /debug/flags/v', '\v'),
  ]).toEqual([
    '404 pod "web\\x1b" does not exist',
    '404 container "\\a" not found in pod "web"',
    '500 container not found ("\\x7f")',
    '500 container not found ("\\u0085")',
    `200 ${checks}warn: some health checks cannot be excluded: no matches for "\\x1b"\nhealthz check passed\n`,
    '400 strconv.ParseUint: parsing "\\v": invalid syntax\n',
  ]);
});

test('the check device-plugin is that of the registration socket', async () => {
  const engine = { ...engineWith([]), devicePluginsUnhealthyBecause: () => 'no device plugins can register' };
  const rig = await ApiRig.open({ engine });
  const client = await rig.authority.issue('carol');
  const paths = ['/healthz', '/healthz/device-plugin', '/healthz?exclude=device-plugin'];
  expect(await Promise.all(paths.map((path) => rig.short(`GET ${path}`, { client })))).toEqual([
    '500 [+]ping ok\n[+]log ok\n[+]syncloop ok\n[-]device-plugin failed: reason withheld\nhealthz check failed\n',
    '500 internal server error: no device plugins can register\n',
    '200 ok',
  ]);
});

test('an encoded path reaches no handler past the check of its plain form', async () => {
  const rules = [{ users: ['carol'], groups: [], verbs: ['*'], resources: ['nodes/healthz'] }];
  const rig = await ApiRig.open({ access: { authorization: { kind: 'policy', rules } } });
  const client = await rig.authority.issue('carol');
  const paths = ['/healthz', '/%70ods', '/healthz/%2e%2e/pods', '/healthz%2f..%2fpods', '/./pods', '/healthz/../pods'];
  const answers = await Promise.all(paths.map((path) => rig.short(`GET ${path}`, { client })));
  expect(answers.map((answer) => answer.slice(0, 3))).toEqual(['200', '403', '404', '404', '307', '307']);
});

test('roots of services are found with and without a slash, and others only with one', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const roots = ['/run', '/exec', '/attach', '/portForward', '/containerLogs', '/checkpoint', '/runningpods', '/logs'];
  const answers = async (asked: { client?: Certificate }): Promise<string[]> =>
    Promise.all(roots.map((path) => rig.short(`POST ${path}`, asked)));
  const moved = ['307 ', '307 ', '307 '];
  expect(await answers({})).toEqual([...Array<string>(5).fill('401 Unauthorized'), ...moved]);
  expect(await answers({ client })).toEqual([...Array<string>(5).fill('404 404: Page Not Found'), ...moved]);
  expect(await rig.ask('POST /checkpoint?timeout=1')).toContain('\r\nlocation: /checkpoint/?timeout=1\r\n');
});

test('below its root a path is decoded as a whole, and no encoded slash is part of a root', async () => {
  const rig = await ApiRig.open({ engine: engineWith([web]) });
  const client = await rig.authority.issue('carol');
  const found = ['/containerLogs/default%2Fweb/b', '/containerLogs/default%2Fweb%2Fb%2F%2F', '/pods/%2F'];
  const missing = [
    '/debug%2Fpprof/cmdline',
    '/debug%2Fpprof',
    '/containerLogs%2Fdefault/web/b',
    '/pods%2F',
    '/run/%2E%2E/pods',
  ];
  const answers = await Promise.all([...found, ...missing].map((path) => rig.short(`GET ${path}`, { client })));
  expect(answers.map((answer) => answer.trimEnd().slice(0, 40))).toEqual([
    '404 container "b" not found in pod "web"',
    '404 container "b" not found in pod "web"',
    '200 {"kind":"PodList","apiVersion":"v1",',
    ...Array<string>(4).fill('404 404 page not found'),
    '404 404: Page Not Found',
  ]);
});

test('a stream reaches the runtime without the token of the client, and its bytes come back', async () => {
  const heads: string[] = [];
  const runtime = createServer((socket) => {
    socket.once('data', (head) => {
      heads.push(head.toString().replaceAll(/127.0.0.1:\d+/g, 'HOST'));
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello');
    });
  }).listen(0, '127.0.0.1');
  await once(runtime, 'listening');
  onTestFinished(() => {
    runtime.close();
  });
  const calls: unknown[] = [];
  const url = `http://127.0.0.1:${(runtime.address() as AddressInfo).port}/exec/token`;
  const exec = (call: unknown): Promise<{ url: string }> => {
    calls.push(call);
    return Promise.resolve({ url });
  };
  const tokens = new TokenUsers(parseTokens('good,anna,1', 'tokens.csv'));
  const rig = await ApiRig.open({ tokens, runtime: { exec } });
  const headers = ['Authorization: Bearer good', 'Connection: Upgrade', 'Upgrade: SPDY/3.1'];
  const answer = await rig.short('POST /exec/default/web/a?command=ls&command=-l&output=1', { headers });
  expect({ answer, calls, heads }).toEqual({
    answer: '101 hello',
    calls: [{ containerId: 'id-a', cmd: ['ls', '-l'], tty: false, stdin: false, stdout: true, stderr: false }],
    heads: [
      [
        'POST /exec/token HTTP/1.1',
        'Host: node',
        'Connection: Upgrade',
        'Upgrade: SPDY/3.1',
        'X-Forwarded-For: 127.0.0.1',
        'Content-Length: 0',
        '\r\n',
      ].join('\r\n'),
    ],
  });
  const refused = await rig.short('POST /exec/default/web/a?output=1', { headers: headers.slice(1) });
  expect(refused).toBe('401 Unauthorized');
});

test('connections that say nothing do not keep others out', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const silent = Array.from({ length: 300 }, () => rig.connectPlain().on('error', () => undefined));
  await Promise.all(silent.map((socket) => once(socket, 'connect')));
  expect(await rig.short('GET /healthz', { client })).toBe('200 ok');
  for (const socket of silent) socket.destroy();
});

test('a replaced certificate is used for the next connection', async () => {
  const rig = await ApiRig.open();
  const client = await rig.authority.issue('carol');
  const next = await rig.authority.issue('renewed');
  rig.secure.replace(next, rig.authority.own.cert);
  const socket = await rig.connect(client);
  expect(socket.getPeerCertificate().subject.CN).toBe('renewed');
  socket.destroy();
  expect(await rig.short('GET /healthz?verbose', { client })).toBe(
    '200 [+]ping ok\n[+]log ok\n[+]syncloop ok\n[+]device-plugin ok\nhealthz check passed\n',
  );
});

test('a stream without a byte for the time-out is closed on both sides', async () => {
  const streaming = new FakeStreamingServer();
  await streaming.start();
  onTestFinished(() => {
    streaming.stop();
  });
  const exec = (): Promise<{ url: string }> => Promise.resolve({ url: `${streaming.url}/exec/token` });
  const rig = await ApiRig.open({ runtime: { exec }, options: { streamingConnectionIdleTimeout: 50 } });
  const client = await rig.authority.issue('carol');
  const headers = ['Connection: Upgrade', 'Upgrade: SPDY/3.1'];
  // Resolves when the server has closed the connection.
  expect(await rig.short('POST /exec/default/web/a?output=1', { client, headers })).toBe(
    '101 hello from the runtime\n',
  );
  await rig.untilClosed();
});

test('a client has 30 s for a request', async () => {
  const { secure } = await ApiRig.open();
  expect(secure.server.requestTimeout).toBe(30_000);
});

test('a head above 32 KiB is refused', async () => {
  const rig = await ApiRig.open();
  const headers = [`X-Long: ${'x'.repeat(33 * 1024)}`];
  expect(await rig.short('GET /healthz', { headers })).toBe('431 431 Request Header Fields Too Large');
});

test('a client that does not finish its handshake or its head in 5 s is closed', async () => {
  const rig = await ApiRig.open();
  const silent = rig.connectPlain().on('error', () => undefined);
  const slow = await rig.connect(await rig.authority.issue('carol'));
  slow.on('error', () => undefined).write('GET /healthz HTTP/1.1\r\n');
  await Promise.all([once(silent, 'close'), once(slow.resume(), 'close')]);
  await rig.untilClosed();
});
