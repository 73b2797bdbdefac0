import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { apiMounts } from '../../../src/server/api/api-mounts.ts';
import { parseTokens, TokenUsers } from '../../../src/server/api/token-file.ts';
import { CertificateAuthority, type Certificate } from '../../fakes/certificate-authority.ts';
import { apiDeps, ApiRig } from './api-rig.ts';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD'];

/** A path for every mount of the API. */
const paths = apiMounts(apiDeps(), { readOnly: false }).map(({ path }) => {
  if (path === '/debug/pprof/') return '/debug/pprof/cmdline';
  return /^\/(run|exec|attach|containerLogs|checkpoint)\/$/.test(path) ? `${path}default/web/a` : path;
});

/** Asks over connections that are kept, with one kind of credentials. */
function client(rig: ApiRig, certificate?: Certificate, token?: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false, ...certificate });
  onTestFinished(() => {
    agent.destroy();
  });
  return async (method: string, path: string): Promise<string> => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const asked = request({ agent, host: '127.0.0.1', port: rig.port, method, path, headers });
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return `${answer.statusCode ?? 0} ${await text(answer)}`.trimEnd();
  };
}

/** The whole answer as the kubelet writes it with its fine-grained authorization. */
function forbiddenTo(user: string, method: string, path: string): string {
  const verbs: Record<string, string> = { GET: 'get', POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };
  const [, first = ''] = path.split('/');
  const parts: Record<string, string> = {
    ...{ metrics: 'metrics', stats: 'stats', logs: 'log', checkpoint: 'checkpoint' },
    ...{ healthz: 'healthz proxy', pods: 'pods proxy', runningpods: 'pods proxy', configz: 'configz proxy' },
    ...{ statusz: 'statusz', flagz: 'configz' },
  };
  const asked = `verb=${verbs[method] ?? ''}, resource=nodes, subresource(s)=[${parts[first] ?? 'proxy'}]`;
  return `403 Forbidden (user=${user}, ${asked})`;
}

test('every route and method asks for valid credentials, and then for the right', async () => {
  const tokens = new TokenUsers(parseTokens('good,carol,1\nother,dave,2', 'tokens.csv'));
  const rules = [{ users: ['carol'], groups: [], verbs: ['*'], resources: ['nodes/*'] }];
  const rig = await ApiRig.open({ tokens, access: { authorization: { kind: 'policy', rules } } });
  const stranger = await (await CertificateAuthority.make('others')).issue('carol');
  const refused = {
    'no credentials': client(rig),
    'a certificate of another authority': client(rig, stranger),
    'an unknown token': client(rig, undefined, 'garbage'),
  };
  const mayAll = {
    certificate: client(rig, await rig.authority.issue('carol')),
    token: client(rig, undefined, 'good'),
  };
  const mayNothing = {
    certificate: client(rig, await rig.authority.issue('dave')),
    token: client(rig, undefined, 'other'),
  };
  const wrong: string[] = [];
  const check = async (method: string, path: string): Promise<void> => {
    const body = method === 'HEAD' ? '' : ' Unauthorized';
    for (const [who, ask] of Object.entries(refused)) {
      const answer = await ask(method, path);
      if (answer !== `401${body}`) wrong.push(`${who}: ${method} ${path}: ${answer}`);
    }
    for (const [how, ask] of Object.entries(mayNothing)) {
      const answer = await ask(method, path);
      if (answer !== (method === 'HEAD' ? '403' : forbiddenTo('dave', method, path))) {
        wrong.push(`not allowed, by ${how}: ${method} ${path}: ${answer}`);
      }
    }
    for (const [how, ask] of Object.entries(mayAll)) {
      const answer = await ask(method, path);
      if (/^40[13]/.test(answer)) wrong.push(`allowed, by ${how}: ${method} ${path}: ${answer}`);
    }
  };
  await Promise.all(methods.flatMap((method) => paths.map((path) => check(method, path))));
  expect(paths.length).toBeGreaterThan(20);
  expect(wrong).toEqual([]);
});
