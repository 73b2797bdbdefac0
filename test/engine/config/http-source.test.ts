import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { HTTPSource } from '../../../src/engine/config/http-source.ts';
import { FakeClock } from '../../fakes/fake-clock.ts';
import { Journal } from '../../fakes/journal.ts';
import { SourceRecorder } from './source-recorder.ts';

const manifest = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  });

type Answer = string | { status: number; body?: string } | RequestListener;

/** A server that gives these answers in turn, the last one from then on, and a source that asks it. */
async function asking(answers: Answer[], headers: [string, string][] = [], credentials = '') {
  const clock = new FakeClock();
  const requests = new Journal<IncomingMessage>();
  const server = createServer((request, response) => {
    const [answer = ''] = answers.length > 1 ? answers.splice(0, 1) : answers;
    reply(answer, request, response);
    requests.add(request);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pod`;
  const recorder = new SourceRecorder(
    new HTTPSource({
      url: url.replace('//', `//${credentials}`),
      headers,
      nodeName: 'edge1',
      httpCheckFrequencyMs: 20_000,
      clock,
    }),
  );
  onTestFinished(async () => {
    await recorder.stop();
    server.closeAllConnections();
    server.close();
  });
  /** What the source hands over after one more request; it hands over nothing when it learned nothing. */
  const askAgain = async (): Promise<void> => {
    await clock.advance(20_000);
  };
  return { clock, requests, url, recorder, askAgain };
}

function reply(answer: Answer, request: IncomingMessage, response: ServerResponse): void {
  if (typeof answer === 'function') answer(request, response);
  else if (typeof answer === 'string') response.end(answer);
  else response.writeHead(answer.status).end(answer.body);
}

test('declares the pod of the body, as the http source', async () => {
  const { recorder, url } = await asking([manifest('web')]);
  expect(await recorder.next()).toEqual({ pods: ['web-edge1'], problems: [] });
  expect(recorder.updates[0]).toMatchObject({ source: 'http', where: url });
});

test('hands over a new list only when the body changed', async () => {
  const { clock, recorder } = await asking([manifest('one'), manifest('one'), manifest('two')]);
  // In steps that are small beside the time that an answer may take.
  while (recorder.handed.length < 2) await clock.advance(10);
  expect(recorder.handed).toEqual([
    { pods: ['one-edge1'], problems: [] },
    { pods: ['two-edge1'], problems: [] },
  ]);
});

test.each<[string, Answer, string]>([
  ['an error status', { status: 500, body: manifest('other') }, 'error the server answered 500'],
  ['an empty body', '', 'error the server answered 200 with an empty body'],
  ['a body that is no pod', 'null', 'error Expected a Pod, found nothing'],
  ['a body that is too large', 'x'.repeat(10 * 1024 * 1024 + 1), 'error the body is larger than 10 MiB'],
])('lets the pods be after %s, says why, and says when all is well again', async (_what, bad, problem) => {
  const { recorder, askAgain } = await asking([manifest('web'), bad, manifest('web')]);
  await recorder.next();
  await askAgain();
  expect(await recorder.next()).toEqual({ pods: undefined, problems: [problem] });
  await askAgain();
  expect(await recorder.next()).toEqual({ pods: ['web-edge1'], problems: [] });
  expect(recorder.updates[1]?.pods).toEqual(recorder.updates[0]?.pods);
});

test('names the place of a mistake in the body', async () => {
  const { recorder, url } = await asking(['apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: 7}\n']);
  await recorder.next();
  expect(recorder.problems).toEqual([
    expect.objectContaining({ origin: url, severity: 'error', field: 'spec.containers', line: 4, column: 20 }),
  ]);
});

test('reports a server that is not there', async () => {
  const clock = new FakeClock();
  const url = 'http://127.0.0.1:1/pod';
  const recorder = new SourceRecorder(
    new HTTPSource({ url, headers: [], nodeName: 'edge1', httpCheckFrequencyMs: 20_000, clock }),
  );
  expect(await recorder.next()).toEqual({ pods: undefined, problems: [expect.stringContaining('ECONNREFUSED')] });
  await recorder.stop();
});

test('gives up on a server that does not answer, after ten seconds', async () => {
  const { clock, recorder, requests, askAgain } = await asking([() => undefined, manifest('web')]);
  await requests.next(() => true);
  await clock.advance(9999);
  expect(recorder.handed).toEqual([]);
  await clock.advance(1);
  expect(await recorder.next()).toEqual({ pods: undefined, problems: ['error no answer within 10 s'] });
  await askAgain();
  expect(await recorder.next()).toEqual({ pods: ['web-edge1'], problems: [] });
});

test('gives up on a body that does not end', async () => {
  const { clock, recorder, requests } = await asking([
    (_request, response) => {
      response.write('{"apiVersion"');
    },
  ]);
  await requests.next(() => true);
  await clock.advance(10_000);
  expect(await recorder.next()).toEqual({ pods: undefined, problems: ['error no answer within 10 s'] });
});

test('ends while a request is under way', async () => {
  const { recorder, requests } = await asking([() => undefined]);
  await requests.next(() => true);
  await recorder.stop();
  expect(await recorder.ended).toEqual(new Error('the test is over'));
  expect(recorder.handed).toEqual([]);
});

test('sends the headers, also several of one name', async () => {
  const { requests } = await asking(
    [manifest('web')],
    [
      ['Authorization', 'Bearer x'],
      ['X-Box', 'a'],
      ['X-Box', 'b'],
    ],
  );
  const { headers } = await requests.next(() => true);
  expect(headers).toMatchObject({ authorization: 'Bearer x', 'x-box': 'a, b' });
});

test('a user and password in the URL are sent to the server and shown to nobody', async () => {
  // The misspelt field brings a problem, which names the URL too.
  const body = manifest('web').replace('"image"', '"imagee":"i","image"');
  const { recorder, requests, url } = await asking([body], [], 'robot:s3cret@');
  await recorder.next();
  const request = await requests.next(() => true);
  expect(request.headers.authorization).toBe(`Basic ${Buffer.from('robot:s3cret').toString('base64')}`);
  expect(recorder.updates[0]).toMatchObject({ where: url, problems: [{ origin: url }] });
  expect(JSON.stringify(recorder.updates)).not.toContain('s3cret');
});
