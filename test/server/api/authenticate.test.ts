import { once } from 'node:events';
import { connect as connectHTTP2 } from 'node:http2';
import { connect, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { parseTokens, TokenUsers } from '../../../src/server/api/token-file.ts';
import { CertificateAuthority, type Certificate } from '../../fakes/certificate-authority.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { ApiRig } from './api-rig.ts';

test('a certificate of another CA with the name of the client CA is answered with 401', async () => {
  const rig = await ApiRig.open({});
  const { authority } = rig;
  const namesake = await CertificateAuthority.make('clients');
  const client = await namesake.issue('carol');
  expect({
    own: (await rig.short('GET /runningpods/', { client: await authority.issue('carol') })).slice(0, 3),
    namesake: await rig.short('GET /runningpods/', { client }),
  }).toEqual({ own: '200', namesake: '401 Unauthorized' });
});

test('a valid certificate without a common name counts as none', async () => {
  const tokens = new TokenUsers(parseTokens('good,anna,1', 'tokens.csv'));
  const rules = [
    { users: ['anna'], groups: [], verbs: ['get'], resources: ['nodes/pods'] },
    { users: [], groups: ['system:unauthenticated'], verbs: ['get'], resources: ['nodes/healthz'] },
  ];
  const rig = await ApiRig.open({ tokens, anonymous: true, access: { authorization: { kind: 'policy', rules } } });
  const client = await rig.authority.issue('', { organizations: ['readers'] });
  const stranger = await (await CertificateAuthority.make('others')).issue('');
  const good = ['Authorization: Bearer good'];
  const status = async (...asked: Parameters<ApiRig['short']>): Promise<string> =>
    (await rig.short(...asked)).slice(0, 3);
  expect({
    anonymous: await status('GET /healthz', { client }),
    token: await status('GET /runningpods/', { client, headers: good }),
    wrongToken: await status('GET /healthz', { client, headers: ['Authorization: Bearer bad'] }),
    stranger: await status('GET /healthz', { client: stranger }),
    strangerWithToken: await status('GET /runningpods/', { client: stranger, headers: good }),
  }).toEqual({ anonymous: '200', token: '200', wrongToken: '401', stranger: '401', strangerWithToken: '200' });
});

const hour = 3_600_000;

/** A server whose clock the test moves, and a client whose certificate lives for an hour from now. */
async function shortLived(): Promise<{ rig: ApiRig; clock: FakeClock; client: Certificate }> {
  const clock = new FakeClock(Date.now());
  const rig = await ApiRig.open({
    access: {
      authentication: { hasClientCA: true, tokens: new TokenUsers(new Map()), anonymous: true, clock },
      authorization: { kind: 'all' },
    },
  });
  const [notBefore, notAfter] = [new Date(clock.now() - hour), new Date(clock.now() + hour)];
  return { rig, clock, client: await rig.authority.issue('carol', { notBefore, notAfter }) };
}

/** Sends a request that keeps the connection. Resolves with the status. */
async function keptStatus(socket: TLSSocket): Promise<string> {
  socket.write('GET /healthz HTTP/1.1\r\nHost: node\r\n\r\n');
  const [answer] = (await once(socket, 'data')) as [Buffer];
  return answer.toString().split(' ')[1] ?? '';
}

test.each([
  ['expires', hour + 1000],
  ['is not valid yet after the clock went back', -hour - 1000],
])('a certificate that %s is refused on a kept connection', async (_what, movedMs) => {
  const { rig, clock, client } = await shortLived();
  const socket = await rig.connect(client);
  const first = await keptStatus(socket);
  clock.setWallClock(clock.now() + movedMs);
  expect([first, await keptStatus(socket)]).toEqual(['200', '401']);
  socket.destroy();
});

/** A client certificate whose issuer, a client CA below ours, lives for an hour from now. */
async function ofShortLivedIssuer({ rig, clock }: { rig: ApiRig; clock: FakeClock }): Promise<Certificate> {
  const [notBefore, notAfter] = [new Date(clock.now() - hour), new Date(clock.now() + hour)];
  const teams = await rig.authority.authority('teams', { notBefore, notAfter });
  const { cert, key } = await teams.issue('carol', { notBefore, notAfter: new Date(clock.now() + 2 * hour) });
  return { cert: `${cert}\n${teams.own.cert}`, key };
}

test('a certificate whose issuer expires is refused on a kept connection', async () => {
  const { rig, clock } = await shortLived();
  const socket = await rig.connect(await ofShortLivedIssuer({ rig, clock }));
  const first = await keptStatus(socket);
  clock.setWallClock(clock.now() + hour + 1000);
  expect([first, await keptStatus(socket)]).toEqual(['200', '401']);
  socket.destroy();
});

test.each(['certificate', 'issuer'])('over HTTP/2 a %s that expires is noticed on a kept connection', async (which) => {
  const { rig, clock, client: own } = await shortLived();
  const client = which === 'issuer' ? await ofShortLivedIssuer({ rig, clock }) : own;
  const session = connectHTTP2(`https://127.0.0.1:${rig.port}`, { rejectUnauthorized: false, ...client });
  onTestFinished(() => {
    session.destroy();
  });
  const status = async (): Promise<unknown> => {
    const stream = session.request({ ':path': '/healthz' }).resume();
    const [headers] = (await once(stream, 'response')) as [Record<string, unknown>];
    return headers[':status'];
  };
  const first = await status();
  clock.setWallClock(clock.now() + hour + 1000);
  expect([first, await status()]).toEqual([200, 401]);
});

test.each(['TLSv1.2', 'TLSv1.3'] as const)(
  'no session of %s is resumed, so each has its certificate checked',
  async (version) => {
    const { rig, client } = await shortLived();
    const versions = { minVersion: version, maxVersion: version };
    const options = { port: rig.port, host: '127.0.0.1', rejectUnauthorized: false, ...versions, ...client };
    const first = connect(options);
    await once(first, 'secureConnect');
    const before = await keptStatus(first);
    const second = connect({ ...options, session: first.getSession() });
    await once(second, 'secureConnect');
    expect([before, second.isSessionReused(), await keptStatus(second)]).toEqual(['200', false, '200']);
    first.destroy();
    second.destroy();
  },
);
