import { createHash } from 'node:crypto';
import { beforeEach, describe, expect, test } from 'vitest';
import { parseMinisignPublicKey } from '../../../../src/origins/http/minisign.ts';
import { MinisignSigner, type SigningOptions } from '../../../fakes/minisign-signer.ts';
import { WebServer } from '../../../fakes/web-server.ts';
import { Asking, podManifest } from './asking.ts';

const [web, other] = [podManifest('web'), podManifest('other')];
const webRuns = { pods: ['web-edge1'], problems: [] };
const otherRuns = { pods: ['other-edge1'], problems: [] };
const stays = 'warning pods stay as the server declared them last';
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

let server: WebServer;

beforeEach(async () => {
  server = await WebServer.start();
  server.answer = web;
});

describe('digests that are to be believed', () => {
  test('keep every other body away', async () => {
    const agent = await Asking.start({ url: server.url(), trust: { sha256: [digest(web)], publicKeys: [] } });
    expect(await agent.next()).toEqual(webRuns);
    server.answer = other;
    const problem = `error the SHA-256 of the body is ${digest(other)}, which is not trusted`;
    expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [problem, stays] });
    server.answer = web;
    expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [] });
  });

  test('may be several: of this body and of the next one', async () => {
    const sha256 = [digest(web), digest(other)];
    const agent = await Asking.start({ url: server.url(), trust: { sha256, publicKeys: [] } });
    expect(await agent.next()).toEqual(webRuns);
    server.answer = other;
    expect(await agent.askAgain()).toEqual(otherRuns);
  });
});

describe('a public key', () => {
  let signer: MinisignSigner;

  beforeEach(() => {
    signer = new MinisignSigner();
  });

  const sign = (body: string, options: SigningOptions = {}): void => {
    server.answers.set('/pods.yaml.minisig', signer.sign(body, options));
  };
  const asking = (sha256: string[] = [], query = ''): Promise<Asking> => {
    const key = parseMinisignPublicKey(signer.publicKey);
    const publicKeys = key === undefined ? [] : [key];
    return Asking.start({ url: server.url(`/pods.yaml${query}`), trust: { sha256, publicKeys } });
  };
  const signaturesAsked = (): number =>
    server.requests.items.filter(({ url = '' }) => url.startsWith('/pods.yaml.minisig')).length;

  test.each([{ legacy: false }, { legacy: true }])('believes what it signed, %o', async (options) => {
    sign(web, options);
    expect(await (await asking()).next()).toEqual(webRuns);
  });

  test('has its signature next to the manifest, with the query of that', async () => {
    sign(web);
    const agent = await asking([], '?a=b');
    await agent.next();
    expect(server.requests.items.map(({ url }) => url)).toEqual(['/pods.yaml?a=b', '/pods.yaml.minisig?a=b']);
  });

  test('is asked for again only when the body changed', async () => {
    sign(web);
    const agent = await asking();
    await agent.next();
    await agent.askAgain();
    expect(signaturesAsked()).toBe(1);
  });

  test('believes a new body as soon as its signature is there', async () => {
    sign(web);
    const agent = await asking();
    expect(await agent.next()).toEqual(webRuns);
    server.answer = other;
    const problem = 'error the body is not trusted: the signature is for other content';
    expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [problem, stays] });
    sign(other);
    expect(await agent.askAgain()).toEqual(otherRuns);
  });

  test.each([
    ['no signature', { status: 404 }, 'error no signature: the server answered 404'],
    ['an empty one', '', 'error the body is not trusted: the signature is not in the format of minisign'],
    [
      'one of another key',
      new MinisignSigner().sign(web),
      /^error the body is not trusted: it is signed with the key \w+, which is not one of the public keys$/,
    ],
  ])('does not believe a body with %s', async (_what, signature, problem) => {
    server.answers.set('/pods.yaml.minisig', signature);
    const agent = await asking();
    expect(await agent.next()).toEqual({ pods: undefined, problems: [expect.stringMatching(problem)] });
    sign(web);
    expect(await agent.askAgain()).toEqual(webRuns);
  });

  describe('does not believe an old body again', () => {
    const at = (seconds: number): SigningOptions => ({ comment: `timestamp:${seconds}\tfile:pods.yaml` });
    const tooOld =
      'error the body is not trusted: it was signed at 2023-11-14T22:13:19.000Z, before the last used one, ' +
      'at 2023-11-14T22:13:20.000Z';

    /** The agent has taken `web`, which was signed at 1700000000. */
    const askingAgain = async (): Promise<Asking> => {
      sign(web, at(1_700_000_000));
      const agent = await asking();
      expect(await agent.next()).toEqual(webRuns);
      return agent;
    };

    test('once a newer one was taken', async () => {
      const agent = await askingAgain();
      server.answer = other;
      sign(other, at(1_699_999_999));
      expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [tooOld, stays] });
      sign(other, at(1_700_000_000));
      expect(await agent.askAgain()).toEqual(otherRuns);
    });

    test('after a restart, with the newer one on disk, or with the server away meanwhile', async () => {
      const agent = await askingAgain();
      await agent.stop();
      server.answer = other;
      sign(other, at(1_699_999_999));
      await agent.restart();
      expect(await agent.next()).toEqual({ pods: ['web-edge1'], problems: [tooOld, stays] });
      await server.stop();
      await agent.restart();
      expect((await agent.next()).pods).toEqual(['web-edge1']);
      await server.start();
      expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [tooOld, stays] });
    });

    test('and neither one that does not tell when it was signed', async () => {
      const agent = await askingAgain();
      server.answer = other;
      sign(other, { comment: 'release 7' });
      const problem = 'error the body is not trusted: its signature has no time';
      expect(await agent.askAgain()).toEqual({ pods: undefined, problems: [problem, stays] });
    });

    test('but one that is bad makes nothing old', async () => {
      const agent = await askingAgain();
      server.answer = 'kind: Pod';
      sign('kind: Pod', at(1_800_000_000));
      expect((await agent.askAgain()).pods).toBeUndefined();
      server.answer = web;
      sign(web, at(1_700_000_000));
      expect(await agent.askAgain()).toEqual({ pods: ['web-edge1'], problems: [] });
    });
  });

  test('of which no signature tells its time, believes each of them', async () => {
    sign(web, { comment: 'release 7' });
    const agent = await asking();
    expect(await agent.next()).toEqual(webRuns);
    server.answer = other;
    sign(other, { comment: 'release 6' });
    expect(await agent.askAgain()).toEqual(otherRuns);
  });

  test('does not make up for a wrong digest', async () => {
    sign(web);
    const agent = await asking([digest(other)]);
    expect((await agent.next()).problems).toEqual([expect.stringMatching(/^error the SHA-256 of the body/)]);
  });
});
