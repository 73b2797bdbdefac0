import { expect, test } from 'vitest';
import { parseTokens, TokenUsers } from '../../../src/server/api/token-file.ts';
import { CertificateAuthority } from '../../fakes/certificate-authority.ts';
import { ApiRig } from './api-rig.ts';

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
