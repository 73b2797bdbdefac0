import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { type Answer, WebServer } from '../../../fakes/web-server.ts';
import { Asking, podManifest } from './asking.ts';

const emptyList = '{"apiVersion":"v1","kind":"List","items":[]}';
const tooLong = 10 * 1024 * 1024 + 1;
const stays = 'warning pods stay as the server declared them last';
const [web, other] = [podManifest('web'), podManifest('other')];
const webRuns = { pods: ['web-edge1'], problems: [] };
/** All is well, and there is nothing new. */
const unchanged = { pods: undefined, problems: [] };

/** A server with this answer, and an agent that asks it. */
async function asking(answer: Answer, options: Partial<Parameters<typeof Asking.start>[0]> = {}) {
  const server = await WebServer.start();
  server.answer = answer;
  const agent = await Asking.start({ url: server.url(), ...options });
  return { server, agent };
}

/** Ends the connection in the middle of the body. */
const cut =
  (headers: Record<string, string>): RequestListener =>
  (_request, response) => {
    response.writeHead(200, headers).write(web.slice(0, 20), () => response.destroy());
  };

/** Answers 304 to who knows this etag, and counts the bodies that it gives. */
function tagged(etag: string, body: string): { answer: RequestListener; bodies: () => number } {
  let bodies = 0;
  const answer: RequestListener = (request, response) => {
    const isKnown = request.headers['if-none-match'] === etag;
    if (!isKnown) bodies += 1;
    response.writeHead(isKnown ? 304 : 200, { etag }).end(isKnown ? undefined : body);
  };
  return { answer, bodies: () => bodies };
}

describe('a good body', () => {
  test('declares its pods, as the http source', async () => {
    const { agent, server } = await asking(web);
    expect(await agent.next()).toEqual(webRuns);
    expect(agent.recorder.updates[0]).toMatchObject({ source: 'http', where: server.url() });
  });

  test('is handed over once, and again when it changed', async () => {
    const { agent, server } = await asking(web);
    await agent.next();
    expect(await agent.askAgain()).toEqual(unchanged);
    server.answer = other;
    expect(await agent.askAgain()).toEqual({ pods: ['other-edge1'], problems: [] });
  });

  test('may have many documents and lists', async () => {
    const { agent } = await asking(`---\n${web}\n---\n{"apiVersion":"v1","kind":"PodList","items":[${other}]}\n`);
    expect(await agent.next()).toEqual({ pods: ['web-edge1', 'other-edge1'], problems: [] });
  });

  test('takes all pods away when it is an empty list', async () => {
    const { agent, server } = await asking(web);
    await agent.next();
    server.answer = emptyList;
    expect(await agent.askAgain()).toEqual({ pods: [], problems: [] });
  });

  test('may be packed with gzip', async () => {
    const { agent, server } = await asking({ headers: { 'content-encoding': 'gzip' }, body: gzipSync(web) });
    expect(await agent.next()).toEqual(webRuns);
    expect((await server.requests.next(() => true)).headers['accept-encoding']).toBe('gzip');
  });
});

describe('an answer that is not a good body', () => {
  test.each<[string, Answer, string]>([
    ['an error status', { status: 500, body: other }, 'the server answered 500'],
    ['a page that is not there', { status: 404, body: other }, 'the server answered 404'],
    ['an empty body', '', 'the server answered 200 with an empty body'],
    ['no content', { status: 204 }, 'the server answered 204'],
    ['a 304 that was not asked for', { status: 304 }, 'the server answered 304'],
    ['a part', { status: 206, body: other }, 'the server answered 206'],
    [
      'the log-in page of a network',
      '<!DOCTYPE html><html><h1>Wi-Fi</h1></html>',
      'the server answered with a web page',
    ],
    [
      'the log-in of a server, behind a redirect',
      (request, response) => {
        if (request.url === '/login') response.end('<html>Log in</html>');
        else response.writeHead(302, { location: '/login' }).end();
      },
      'the server answered with a web page',
    ],
    ['a body that is too large', 'x'.repeat(tooLong), 'the body is larger than 10 MiB'],
    [
      'a small body that unpacks to one that is too large',
      { headers: { 'content-encoding': 'gzip' }, body: gzipSync(Buffer.alloc(tooLong)) },
      'the body is larger than 10 MiB',
    ],
    [
      'a body that says it is packed and is not',
      { headers: { 'content-encoding': 'gzip' }, body: other },
      'the body is not complete gzip data, although the server declares it as gzip',
    ],
    [
      'a packed body without its end',
      { headers: { 'content-encoding': 'gzip' }, body: gzipSync(other).subarray(0, -9) },
      'the body is not complete gzip data, although the server declares it as gzip',
    ],
    [
      'a body in an encoding that was not requested',
      { headers: { 'content-encoding': 'br' }, body: other },
      'the body has an encoding that was not requested',
    ],
    [
      'a body that is shorter than it should be',
      cut({ 'content-length': String(web.length) }),
      'the connection was cut before the answer was complete',
    ],
    ['a body of chunks without an end', cut({}), 'the connection was cut before the answer was complete'],
  ])('leaves the pods as they are: %s', async (_what, bad, problem) => {
    // Another body than before, as far as it is one: what is known is not asked for again.
    const { agent, server } = await asking(web);
    await agent.next();
    server.answer = bad;
    expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [`error ${problem}`, stays] });
    server.answer = web;
    expect(await agent.askAgain()).toEqual(unchanged);
    server.answer = other;
    expect(await agent.askAgain()).toEqual({ pods: ['other-edge1'], problems: [] });
  });

  test.each<[string, string, string]>([
    ['a list of null', '{"apiVersion":"v1","kind":"List","items":null}', 'Expected a list, found null'],
    ['a list of pods of null', '{"apiVersion":"v1","kind":"PodList","items":null}', 'Expected a list, found null'],
    ['a list whose text ends too early', 'apiVersion: v1\nkind: List\nitems:', 'Expected a list, found null'],
    ['a list without items', '{"apiVersion":"v1","kind":"List"}', 'items is missing'],
    ['items that are no list', '{"apiVersion":"v1","kind":"List","items":{}}', 'Expected a list, found an object'],
    ['an empty list of values', '{"apiVersion":"v1","kind":"SecretList","items":[]}', 'The text declares nothing'],
    ['an empty object', '{}', 'apiVersion is missing'],
    ['null', 'null', 'The text declares nothing'],
    ['an empty array', '[]', 'Expected an object, found a list'],
    ['white space', ' \n', 'The text declares nothing'],
    ['a comment', '# nothing yet\n---\n', 'The text declares nothing'],
    [
      'the answer of an API server',
      '{"apiVersion":"v1","kind":"Status","status":"Failure"}',
      'kind "Status" is not known',
    ],
    [
      'a list of what nobody knows',
      '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Potato"}]}',
      'kind "Potato" is not known',
    ],
    [
      'a list of what is not supported',
      '{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"networking.k8s.io/v1","kind":"Ingress"}]}',
      'kind "Ingress" is not supported: nothing routes requests by host name or path; type: NodePort in a Service opens a port of this node',
    ],
  ])('stops no pod by accident: %s', async (_what, bad, problem) => {
    const { agent, server } = await asking(web);
    await agent.next();
    server.answer = bad;
    const { pods, problems } = await agent.askAgain();
    expect({ pods, problems }).toEqual({ pods: undefined, problems: [expect.stringContaining(problem), stays] });
    server.answer = emptyList;
    expect(await agent.askAgain()).toEqual({ pods: [], problems: [] });
  });

  test('may be garbage', async () => {
    const { agent, server } = await asking(web);
    await agent.next();
    server.answer = '\u0000\u0001 no manifest';
    expect(await agent.askAgain()).toMatchObject({ pods: undefined, problems: [/^error /, stays].map(matching) });
  });

  test('names the place of a mistake, and nothing of the rest is taken', async () => {
    const bad = 'apiVersion: v1\nkind: Pod\nmetadata: {name: bad}\nspec: {containers: 7}\n';
    const { agent, server } = await asking(web);
    await agent.next();
    server.answer = `---\n${other}\n---\n${bad}`;
    expect((await agent.askAgain()).pods).toBeUndefined();
    expect(agent.recorder.problems).toEqual([
      expect.objectContaining({ origin: server.url(), severity: 'error', field: 'spec.containers', line: 7 }),
      expect.objectContaining({ severity: 'warning' }),
    ]);
  });

  test('leaves the source unread when nothing good came before', async () => {
    const { agent, server } = await asking({ status: 500 });
    expect(await agent.next()).toEqual({ pods: undefined, problems: ['error the server answered 500'] });
    server.answer = web;
    expect(await agent.askAgain()).toEqual(webRuns);
  });
});

const matching = (pattern: string | RegExp): unknown =>
  typeof pattern === 'string' ? pattern : expect.stringMatching(pattern);

describe('a server', () => {
  test('that is lost is asked again less and less often, so that a fleet leaves it alone', async () => {
    const { agent, server } = await asking(web);
    await agent.next();
    await server.stop();
    expect(await agent.askAgain()).toEqual({
      pods: undefined,
      problems: [expect.stringMatching(/^error connect ECONNREFUSED 127\.[\d.]+:\d+$/), stays],
    });
    const waits: number[] = [];
    for (let time = 0; time < 4; time++) {
      waits.push(await agent.clock.advanceToNextTimer());
      await agent.next();
    }
    expect(waits).toEqual([20_000, 40_000, 60_000, 60_000]);
    await server.start();
    expect(await agent.askAgain()).toEqual(unchanged);
    expect(await agent.clock.advanceToNextTimer()).toBe(20_000);
  });

  test('that does not answer yet is asked again soon, because the network may come up at any moment', async () => {
    const server = await WebServer.start();
    server.answer = web;
    await server.stop();
    const agent = await Asking.start({ url: server.url() });
    const waits: number[] = [];
    for (let time = 0; time < 8; time++) {
      await agent.next();
      waits.push(await agent.clock.advanceToNextTimer());
    }
    expect(waits).toEqual([750, 1500, 3000, 6000, 12_000, 24_000, 45_000, 45_000]);
    await agent.next();
    await server.start();
    expect(await agent.askAgain()).toEqual(webRuns);
  });

  test('that refuses is asked less and less often', async () => {
    const { agent } = await asking({ status: 503 });
    const waits: number[] = [];
    for (let time = 0; time < 4; time++) {
      await agent.next();
      waits.push(await agent.clock.advanceToNextTimer());
    }
    expect(waits).toEqual([20_000, 40_000, 60_000, 60_000]);
  });

  test('is asked again when it wants to be', async () => {
    const { agent } = await asking({ status: 503, headers: { 'retry-after': '120' } });
    await agent.next();
    expect(await agent.clock.advanceToNextTimer()).toBe(126_000);
  });

  test('that answers something bad is asked at the usual time, as that may be put right any moment', async () => {
    const { agent } = await asking('7');
    for (let time = 0; time < 3; time++) {
      await agent.next();
      expect(await agent.clock.advanceToNextTimer()).toBe(20_000);
    }
  });

  test.each<[string, Answer]>([
    ['a body beyond the limit', 'x'.repeat(tooLong)],
    [
      'a length beyond the limit',
      (_request, response) => {
        response.writeHead(200, { 'content-length': tooLong }).flushHeaders();
      },
    ],
    [
      'packed, a body beyond the limit',
      { headers: { 'content-encoding': 'gzip' }, body: gzipSync(Buffer.alloc(tooLong)) },
    ],
    ['half a megabyte of garbage', '- [{"'.repeat(2 ** 17)],
    ['a web page of half a megabyte', `<html>${' '.repeat(2 ** 19)}`],
  ])('that sends %s is asked less and less often until it sends a manifest', async (_what, flood) => {
    const { agent, server } = await asking(flood);
    const waits: number[] = [];
    for (const next of [...new Array<Answer>(6).fill(flood), '7', flood, web, flood, flood]) {
      await agent.next();
      server.answer = next;
      waits.push(await agent.clock.advanceToNextTimer());
    }
    expect(waits).toEqual([
      ...[20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000],
      // What is small costs little, and is forgiven nothing.
      20_000,
      300_000,
      // Nor is anything held against who sent a manifest.
      20_000,
      20_000,
    ]);
  });

  test('that knows its flood by a tag is asked at the usual time', async () => {
    const { agent } = await asking(tagged('"1"', '- [{"'.repeat(2 ** 17)).answer);
    await agent.next();
    expect(await agent.clock.advanceToNextTimer()).toBe(20_000);
    await agent.next();
    expect(await agent.clock.advanceToNextTimer()).toBe(20_000);
  });

  test('is let go when its encoding is of no use', async () => {
    const { server } = await asking((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'br' }).flushHeaders();
    });
    const { socket } = await server.requests.next(() => true);
    await once(socket, 'close');
    expect(socket.destroyed).toBe(true);
  });

  test('that does not answer is given up after ten seconds', async () => {
    const { agent, server } = await asking(() => undefined);
    await server.requests.next(() => true);
    await agent.clock.advance(9999);
    expect(agent.recorder.handed).toEqual([]);
    await agent.clock.advance(1);
    expect(await agent.next()).toEqual({ pods: undefined, problems: ['error the server sent nothing for 10 s'] });
    server.answer = web;
    expect(await agent.askAgain()).toEqual(webRuns);
  });

  test('that stops in the middle of the body is given up too', async () => {
    const { agent, server } = await asking((_request, response) => {
      response.write('{"apiVersion"');
    });
    await server.requests.next(() => true);
    await agent.clock.advance(10_000);
    expect(await agent.next()).toEqual({ pods: undefined, problems: ['error the server sent nothing for 10 s'] });
  });

  test('keeps nobody from stopping', async () => {
    const { agent, server } = await asking(() => undefined);
    await server.requests.next(() => true);
    await agent.recorder.stop();
    expect(await agent.recorder.ended).toEqual(new Error('the test is over'));
    expect(agent.recorder.handed).toEqual([]);
  });
});

describe('a body that the server has a tag for', () => {
  test('is sent once', async () => {
    const { answer, bodies } = tagged('"1"', web);
    const { agent } = await asking(answer);
    expect(await agent.next()).toEqual(webRuns);
    expect(await agent.askAgain()).toEqual(unchanged);
    expect(await agent.askAgain()).toEqual(unchanged);
    expect(bodies()).toBe(1);
  });

  test('and that is bad is sent once, too, and stays bad', async () => {
    const { answer, bodies } = tagged('"1"', '7');
    const { agent } = await asking(answer);
    const first = await agent.next();
    expect(await agent.askAgain()).toEqual(first);
    expect(bodies()).toBe(1);
  });

  test('is the same though its tag changed', async () => {
    const { agent, server } = await asking(tagged('"1"', web).answer);
    await agent.next();
    server.answer = tagged('"2"', web).answer;
    expect(await agent.askAgain()).toEqual(unchanged);
    const { answer, bodies } = tagged('"2"', other);
    server.answer = answer;
    expect(await agent.askAgain()).toEqual(unchanged);
    expect(bodies()).toBe(0);
  });

  test('may have the time of its last change instead', async () => {
    const changedAt = 'Wed, 01 Jan 2025 00:00:00 GMT';
    const { agent, server } = await asking({ headers: { 'last-modified': changedAt }, body: web });
    await agent.next();
    server.answer = { status: 304 };
    expect(await agent.askAgain()).toEqual(unchanged);
    const [, second] = server.requests.items;
    expect(second?.headers['if-modified-since']).toBe(changedAt);
  });
});

describe('a redirect', () => {
  const to = (location: string): Answer => ({ status: 302, headers: { location } });

  test('to the same server is followed', async () => {
    const { agent, server } = await asking(web);
    server.answers.set('/pods.yaml', to('/v2/pods.yaml?a=b'));
    // The first answer may have come before the redirect was there.
    await agent.next();
    expect(await agent.askAgain()).toEqual(unchanged);
    expect(server.requests.items.map(({ url }) => url)).toContain('/v2/pods.yaml?a=b');
  });

  test('to another server is not, and nothing is sent there', async () => {
    const elsewhere = await WebServer.start({ host: '127.0.0.2' });
    elsewhere.answer = other;
    const { agent } = await asking(to(elsewhere.url('/steal?secret=1')), { headers: [['Authorization', 'Bearer x']] });
    expect(await agent.next()).toEqual({
      pods: undefined,
      problems: [`error the server redirects to another one, ${elsewhere.origin}, which is not followed`],
    });
    expect(elsewhere.requests.items).toEqual([]);
  });

  test('in a circle comes to an end', async () => {
    const { agent, server } = await asking(to('/pods.yaml'));
    expect(await agent.next()).toEqual({ pods: undefined, problems: ['error the server redirects more than 5 times'] });
    expect(server.requests.items).toHaveLength(6);
  });
});

describe('a request', () => {
  const authorization = ({ headers }: IncomingMessage): string | undefined => headers.authorization;

  test('has the headers, also several of one name', async () => {
    const headers: [string, string][] = [
      ['Authorization', 'Bearer x'],
      ['X-Box', 'a'],
      ['x-box', 'b'],
    ];
    const { server } = await asking(web, { headers });
    const request = await server.requests.next(() => true);
    expect(request.headers).toMatchObject({ authorization: 'Bearer x', 'x-box': 'a, b', 'user-agent': 'kubelet-ts' });
  });

  test('has user, password and query of the URL, which nobody else gets to see', async () => {
    const server = await WebServer.start();
    // The misspelt field brings a problem, which names the URL too.
    server.answer = web.replace('"image"', '"imagee":"i","image"');
    const url = server.url('/pods.yaml?token=t0ken').replace('//', '//robot:s3cret@');
    const agent = await Asking.start({ url });
    await agent.next();
    const request = await server.requests.next(() => true);
    expect(authorization(request)).toBe(`Basic ${Buffer.from('robot:s3cret').toString('base64')}`);
    expect(request.url).toBe('/pods.yaml?token=t0ken');
    const shown = server.url('/pods.yaml?…');
    expect(agent.recorder.updates[0]).toMatchObject({ where: shown, problems: [{ origin: shown }] });
    await server.stop();
    await agent.askAgain();
    expect(JSON.stringify([agent.recorder.updates, agent.recorder.problems])).not.toMatch(/s3cret|t0ken/);
  });

  test.each([
    ['https://box.example/', undefined, []],
    ['http://box.example/', undefined, ['warning the credentials are sent unencrypted']],
    ['http://box.example/', [], []],
    ['http://me:secret@box.example/', [], ['warning the credentials are sent unencrypted']],
    ['http://[::1]/', undefined, []],
  ])('to %s with headers %o that opens something is warned of', async (url, headers, warnings) => {
    const proxy = await WebServer.start();
    const opening: [string, string][] = [['Authorization', 'Bearer x']];
    const agent = await Asking.start({ url, headers: headers ?? opening, proxyFor: () => proxy.origin });
    expect((await agent.next()).problems.filter((problem) => problem.startsWith('warning'))).toEqual(warnings);
  });

  test('goes by way of the proxy', async () => {
    const proxy = await WebServer.start();
    proxy.answer = web;
    const url = 'http://box.example/pods.yaml?a=b';
    const agent = await Asking.start({ url, proxyFor: () => proxy.origin.replace('//', '//me:mine@') });
    expect(await agent.next()).toEqual(webRuns);
    const request = await proxy.requests.next(() => true);
    expect(request.url).toBe(url);
    expect(request.headers).toMatchObject({ host: 'box.example', 'proxy-authorization': expect.any(String) as string });
  });
});
