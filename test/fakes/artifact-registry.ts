import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { pack } from 'tar-stream';
import { WebServer } from './web-server.ts';

export interface FakeLayer {
  mediaType: string;
  content: Buffer | string;
  annotations?: Record<string, string>;
}

export const digestOf = (bytes: Buffer | string): string =>
  `sha256:${createHash('sha256').update(bytes).digest('hex')}`;

/**
 * A registry on this machine with the artifacts of one repository, `team/pods`. If it has a user, only that user may
 * pull.
 */
export class ArtifactRegistry {
  /** Method, path within the repository and status of each request, such as `HEAD manifests/v1 200`. */
  readonly log: string[] = [];
  readonly web: WebServer;
  readonly tags = new Map<string, string>();
  readonly blobs = new Map<string, Buffer>();
  /** `user:password`, which Basic requires, or for which the token server returns a token. */
  login: { scheme: 'Basic' | 'Bearer'; userAndPassword: string; identityToken?: string } | undefined;
  /** If set, blobs are at this origin, under the same path. */
  blobsAt: string | undefined;
  /** False for a registry that does not report the digest of a tag. */
  reportsDigests = true;
  /** Indexes by digest. Undefined for a registry without the referrers API. */
  referrers: Map<string, Buffer> | undefined = new Map();
  readonly token = 't0ken';

  private constructor(web: WebServer) {
    this.web = web;
    web.answer = (request, response) => void this.#answer(request, response);
  }

  static async start(): Promise<ArtifactRegistry> {
    return new ArtifactRegistry(await WebServer.start());
  }

  get host(): string {
    return new URL(this.web.origin).host;
  }

  url(rest = ':v1'): URL {
    return new URL(`oci://${this.host}/team/pods${rest}`);
  }

  /** Creates an artifact and tags it. Returns its digest. */
  push(layers: readonly FakeLayer[], tag = 'v1'): string {
    const described = layers.map(({ mediaType, content, annotations }) => {
      const bytes = Buffer.from(content);
      const digest = digestOf(bytes);
      this.blobs.set(digest, bytes);
      return { mediaType, digest, size: bytes.length, annotations };
    });
    return this.pushManifest({ schemaVersion: 2, layers: described }, tag);
  }

  pushManifest(manifest: unknown, tag = 'v1'): string {
    const bytes = Buffer.from(JSON.stringify(manifest));
    const digest = digestOf(bytes);
    this.blobs.set(digest, bytes);
    this.tags.set(tag, digest);
    return digest;
  }

  /** Signs a digest as cosign does. `signed` is the digest in the signed text. */
  sign(digest: string, keys: readonly KeyObject[], signed = digest, type = 'cosign container image signature'): void {
    const identity = { 'docker-reference': `${this.host}/team/pods` };
    const critical = { identity, image: { 'docker-manifest-digest': signed }, type };
    const content = JSON.stringify({ critical, optional: null });
    const layers = keys.map((key) => ({
      mediaType: 'application/vnd.dev.cosign.simplesigning.v1+json',
      content,
      annotations: {
        'dev.cosignproject.cosign/signature': sign('sha256', Buffer.from(content), key).toString('base64'),
      },
    }));
    this.push(layers, `${digest.replace(':', '-')}.sig`);
  }

  /**
   * Signs a digest with a bundle, as cosign 3 does. Its manifest is a referrer: through the API if the registry has
   * one, else in the index under a tag. `changes` apply to the signed statement.
   */
  signBundle(digest: string, key: KeyObject, changes: Readonly<Record<string, unknown>> = {}): void {
    const statement = {
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ digest: { sha256: digest.slice('sha256:'.length) }, annotations: {} }],
      predicateType: 'https://sigstore.dev/cosign/sign/v1',
      predicate: {},
      ...changes,
    };
    const payload = Buffer.from(JSON.stringify(statement));
    const payloadType = 'application/vnd.in-toto+json';
    const signed = Buffer.concat([Buffer.from(`DSSEv1 28 ${payloadType} ${payload.length} `), payload]);
    const signatures = [{ sig: sign('sha256', signed, key).toString('base64') }];
    const mediaType = 'application/vnd.dev.sigstore.bundle.v0.3+json';
    const dsseEnvelope = { payload: payload.toString('base64'), payloadType, signatures };
    const content = JSON.stringify({ mediaType, dsseEnvelope });
    const referrer = this.push([{ mediaType, content }], 'bundle');
    const index = { schemaVersion: 2, manifests: [{ digest: referrer }] };
    if (this.referrers === undefined) this.pushManifest(index, digest.replace(':', '-'));
    else this.referrers.set(digest, Buffer.from(JSON.stringify(index)));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    if (url.startsWith('/token')) {
      await this.#giveToken(request, response);
      return;
    }
    const [, kind = '', reference = ''] = /^\/v2\/team\/pods\/(manifests|blobs|referrers)\/([^/?]+)$/.exec(url) ?? [];
    const end = (status: number, headers: Record<string, string | number> = {}, body?: Buffer): void => {
      this.log.push(`${method} ${kind}/${reference} ${status}`);
      response.writeHead(status, headers).end(method === 'HEAD' ? undefined : body);
    };
    if (!this.#mayPull(request)) {
      const bearer = `Bearer realm="${this.web.origin}/token",service="reg,1",scope="repository:team/pods:pull"`;
      end(401, { 'www-authenticate': this.login?.scheme === 'Basic' ? 'Basic realm="pods"' : bearer });
      return;
    }
    const digest = kind === 'manifests' ? (this.tags.get(reference) ?? reference) : reference;
    const bytes = kind === 'referrers' ? this.referrers?.get(digest) : this.blobs.get(digest);
    if (bytes === undefined) end(404);
    else if (kind === 'blobs' && this.blobsAt !== undefined) end(307, { location: `${this.blobsAt}/${digest}` });
    else end(200, this.reportsDigests ? { 'docker-content-digest': digest } : {}, bytes);
  }

  #mayPull({ headers: { authorization } }: IncomingMessage): boolean {
    if (this.login === undefined) return true;
    const { scheme, userAndPassword } = this.login;
    return authorization === (scheme === 'Basic' ? basic(userAndPassword) : `Bearer ${this.token}`);
  }

  async #giveToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = new URLSearchParams((await buffer(request)).toString());
    const query = request.method === 'POST' ? form : new URL(request.url ?? '', 'http://host').searchParams;
    const { userAndPassword = '', identityToken } = this.login ?? {};
    const isKnown =
      identityToken === undefined
        ? request.headers.authorization === basic(userAndPassword)
        : form.get('grant_type') === 'refresh_token' && form.get('refresh_token') === identityToken;
    const asked = `${query.get('service') ?? ''} ${query.get('scope') ?? ''}`;
    const status = isKnown ? 200 : 401;
    this.log.push(`${request.method ?? ''} token for ${asked} ${status}`);
    response.writeHead(status).end(JSON.stringify(isKnown ? { access_token: this.token } : {}));
  }
}

const basic = (userAndPassword: string): string => `Basic ${Buffer.from(userAndPassword).toString('base64')}`;

/** Creates a key pair as `cosign generate-key-pair` does, with the public key in PEM. */
export function cosignKeys(curve = 'P-256'): { privateKey: KeyObject; pem: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: curve });
  return { privateKey, pem: publicKey.export({ type: 'spki', format: 'pem' }).toString() };
}

/** Creates a tar archive. `-> TARGET` creates a link. */
export async function tarOf(files: Record<string, string>): Promise<Buffer> {
  const archive = pack();
  for (const [name, text] of Object.entries(files)) {
    if (text.startsWith('-> ')) archive.entry({ name, type: 'symlink', linkname: text.slice(3) });
    else archive.entry({ name }, text);
  }
  archive.finalize();
  return buffer(archive);
}
