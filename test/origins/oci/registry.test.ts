import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { SecretValues } from '../../../src/engine/redaction/secret-values.ts';
import { LargeBodies } from '../../../src/origins/http/large-bodies.ts';
import { Registry } from '../../../src/origins/oci/registry.ts';
import { WebServer } from '../../fakes/web-server.ts';

/** A registry whose tokens, `token-1` and so on, are each good for one request. */
async function registryOfShortTokens(): Promise<WebServer> {
  const web = await WebServer.start();
  let [given, used] = [0, 0];
  web.answers.set('/token', (_request, response) => {
    given += 1;
    response.end(JSON.stringify({ token: `token-${given}` }));
  });
  web.answer = ({ headers: { authorization } }, response) => {
    const isGood = given > used && authorization === `Bearer token-${given}`;
    if (isGood) used = given;
    response.writeHead(isGood ? 200 : 401, { 'www-authenticate': `Bearer realm="${web.origin}/token"` }).end();
  };
  return web;
}

test('redacts the current and the previous token of a registry', async () => {
  const secrets = new SecretValues();
  const { host } = new URL((await registryOfShortTokens()).origin);
  const registry = (reference: string): Registry =>
    new Registry({
      ...{ host, name: `${host}/team/pods`, repository: 'team/pods', reference, secrets, clock: systemClock },
      credentials: () => Promise.resolve(undefined),
      proxyFor: () => undefined,
      largeBodies: new LargeBodies(tmpdir()),
    });
  const [first, second] = [registry('v1'), registry('v2')];
  for (const visited of [second, first, first, first]) {
    await visited.visit({ warnings: [], bodyBytes: 0 }, new AbortController().signal, (visit) => visit.digestOf('v1'));
  }
  expect(secrets.hide('token-1 token-2 token-3 token-4')).toBe('<hidden> token-2 <hidden> <hidden>');
});
