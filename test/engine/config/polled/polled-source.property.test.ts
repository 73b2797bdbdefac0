import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Answer, WebServer } from '../../../fakes/web-server.ts';
import { propertyRuns, propertyTimeoutMs } from '../../../support/property-runs.ts';
import { Asking, podManifest } from './asking.ts';

const listOf = (names: readonly string[]): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: names.map((name): unknown => JSON.parse(podManifest(name))),
  });

/** A good body; `tag`: what the server says of it, the same for the same body or another each time. */
interface GoodAnswer {
  pods: string[];
  tag: 'none' | 'of the body' | 'another';
  isPacked: boolean;
}

const bad: Record<string, Answer> = {
  'an error': { status: 500, body: listOf(['error']) },
  nothing: '',
  'a web page': '<html>Wi-Fi</html>',
  garbage: '\u0000\u0001 no manifest',
  'too much': 'x'.repeat(10 * 1024 * 1024 + 1),
  'an error in one of two': `${podManifest('web')}\n---\nkind: Pod\n`,
  'half of it': (_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"apiVersion"', () => response.destroy());
  },
  'a cut connection': (_request, response) => response.destroy(),
  'another server': { status: 302, headers: { location: 'http://127.0.0.1:1/pods.yaml' } },
};

interface Step {
  answer: GoodAnswer | keyof typeof bad;
  /** A new life of the agent asks. */
  isNewLife: boolean;
}

const anyGood: fc.Arbitrary<GoodAnswer> = fc.record({
  pods: fc.subarray(['web', 'db', 'job']),
  tag: fc.constantFrom('none', 'of the body', 'another'),
  isPacked: fc.boolean(),
});
const anyStep: fc.Arbitrary<Step> = fc.record({
  answer: fc.oneof(anyGood, fc.constantFrom(...Object.keys(bad), 'down')),
  isNewLife: fc.integer({ min: 0, max: 3 }).map((chance) => chance === 0),
});

let answers = 0;

function giving({ pods, tag, isPacked }: GoodAnswer): Answer {
  const body = listOf(pods);
  answers += 1;
  const etag = tag === 'of the body' ? `"${pods.join(' ')}"` : `"${answers}"`;
  return ({ headers }, response) => {
    if (tag !== 'none' && headers['if-none-match'] === etag) {
      response.writeHead(304, { etag }).end();
      return;
    }
    const fields = { ...(tag !== 'none' && { etag }), ...(isPacked && { 'content-encoding': 'gzip' }) };
    response.writeHead(200, fields).end(isPacked ? gzipSync(body) : body);
  };
}

test(
  'whatever a server answers, the pods are those of its last good body, through restarts too',
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyStep, { minLength: 3, maxLength: 12 }), async (steps) => {
        const server = new WebServer();
        let agent: Asking | undefined;
        let expected: string[] | undefined;
        let shown: string[] | undefined;
        try {
          for (const { answer, isNewLife } of steps) {
            const isGood = typeof answer !== 'string';
            await server.stop();
            server.answer = isGood ? giving(answer) : (bad[answer] ?? '');
            await server.start();
            if (answer === 'down') await server.stop();
            if (isGood) expected = answer.pods.map((name) => `${name}-edge1`);
            let handed;
            if (agent === undefined || isNewLife) {
              shown = undefined;
              await agent?.restart();
              agent ??= await Asking.start({ url: server.url() });
              handed = await agent.next();
            } else handed = await agent.askAgain();
            shown = handed.pods ?? shown;
            expect({ shown, isWell: handed.problems.length === 0 }).toEqual({ shown: expected, isWell: isGood });
          }
        } finally {
          await agent?.stop();
          await server.stop();
        }
      }),
      propertyRuns(40),
    );
  },
  propertyTimeoutMs,
);
