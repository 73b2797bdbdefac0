import { createHash } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerOptions } from 'node:https';
import { buffer } from 'node:stream/consumers';
import { extract } from 'tar-stream';
import { WebServer } from './web-server.ts';

interface Descriptor {
  mediaType: string;
  digest: string;
}

/**
 * A registry on this machine. Every repository has the one image of an archive, under any tag, for users with
 * passwords. It speaks as much of the OCI distribution API as a pull needs.
 */
export class ImageRegistry {
  /** Passwords by user. While it is empty, everybody may pull. */
  readonly users = new Map<string, string>();
  /** Who was admitted or refused for which request, such as `ada GET team/app/manifests/1 200`. */
  readonly log: string[] = [];
  /** Digest of the manifest. */
  readonly digest: string;
  readonly #server: WebServer;
  readonly #blobs: ReadonlyMap<string, Buffer>;
  readonly #manifest: Descriptor;
  /** Digests of the layers. */
  readonly #layers: ReadonlySet<string>;
  /** Offset of the first byte in each response with a layer. */
  readonly layerOffsets: number[] = [];
  #hold = (): Promise<void> => Promise.resolve();
  #cuts = 0;
  readonly #notes = new EventEmitter();

  private constructor(blobs: ReadonlyMap<string, Buffer>, manifest: Descriptor, tls?: ServerOptions) {
    this.#blobs = blobs;
    this.#manifest = manifest;
    const { layers } = JSON.parse(blobs.get(manifest.digest)?.toString() ?? '{"layers":[]}') as {
      layers: Descriptor[];
    };
    this.#layers = new Set(layers.map(({ digest }) => digest));
    this.digest = manifest.digest;
    this.#server = new WebServer({ host: '127.0.0.1', ...(tls && { tls }) });
    this.#server.answer = (request, response) => {
      void this.#answer(request, response);
    };
  }

  /**
   * Starts a registry with the image of an OCI archive on a free port, with HTTPS if `tls` is given. The caller stops
   * it.
   */
  static async start(archive: string, tls?: ServerOptions): Promise<ImageRegistry> {
    const files = await filesOf(archive);
    const index = JSON.parse(files.get('index.json')?.toString() ?? '{}') as { manifests: Descriptor[] };
    const [manifest] = index.manifests;
    if (manifest === undefined) throw new Error(`${archive} has no image`);
    const blobs = [...files].filter(([path]) => path.startsWith('blobs/')).map(([, content]) => content);
    const registry = new ImageRegistry(new Map(blobs.map((blob) => [digestOf(blob), blob])), manifest, tls);
    await registry.#server.start();
    return registry;
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  get origin(): string {
    return this.#server.origin;
  }

  /** As in image names: `127.0.0.1:5000`. */
  get host(): string {
    return new URL(this.#server.origin).host;
  }

  /** From now on, sends half of each layer at once, and the rest when the returned function is called. */
  holdLayers(): () => void {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#hold = () => released;
    return release;
  }

  /** Resolves when the manifests of this many repositories have been requested. */
  async waitForRepositories(count: number): Promise<void> {
    const repositories = (): Set<string | undefined> =>
      new Set(this.log.map((line) => / (\S+)\/manifests\//.exec(line)?.[1]));
    while (repositories().size < count) await once(this.#notes, 'note');
  }

  /** Breaks the connections of the next layer requests in the middle of the layer. */
  cutLayers(count: number): void {
    this.#cuts = count;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request;
    const user = this.#userOf(request);
    const [, repository = '', kind = '', reference = ''] = /^\/v2\/(.+)\/(manifests|blobs)\/([^/?]+)/.exec(url) ?? [];
    const note = (status: number): void => {
      if (kind === 'manifests')
        this.log.push(`${user ?? 'nobody'} ${method} ${repository}/${kind}/${reference} ${status}`);
      this.#notes.emit('note');
    };
    if (this.users.size > 0 && user === undefined) {
      note(401);
      response.writeHead(401, { 'www-authenticate': 'Basic realm="images"' }).end();
      return;
    }
    const digest = kind === 'manifests' && !reference.startsWith('sha256:') ? this.digest : reference;
    const blob = this.#blobs.get(digest);
    if (blob === undefined) {
      note(404);
      response.writeHead(404).end();
      return;
    }
    note(200);
    const from = Number(/^bytes=(\d+)-/.exec(request.headers.range ?? '')?.[1] ?? 0);
    response.writeHead(from === 0 ? 200 : 206, {
      'content-type': kind === 'manifests' ? this.#manifest.mediaType : 'application/octet-stream',
      'content-length': blob.length - from,
      ...(from > 0 && { 'content-range': `bytes ${from}-${blob.length - 1}/${blob.length}` }),
      'docker-content-digest': digest,
    });
    if (method === 'HEAD' || kind === 'manifests') {
      response.end(method === 'HEAD' ? undefined : blob);
      return;
    }
    const middle = Math.max(from, Math.floor(blob.length / 2));
    const isLayer = this.#layers.has(digest);
    if (isLayer) this.layerOffsets.push(from);
    if (isLayer && this.#cuts > 0) {
      this.#cuts -= 1;
      response.write(blob.subarray(from, middle), () => response.destroy());
      return;
    }
    response.write(blob.subarray(from, middle));
    if (isLayer) await this.#hold();
    response.end(blob.subarray(middle));
  }

  #userOf({ headers: { authorization = '' } }: IncomingMessage): string | undefined {
    const [user = '', password] = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':');
    return password !== undefined && this.users.get(user) === password ? user : undefined;
  }
}

const digestOf = (blob: Buffer): string => `sha256:${createHash('sha256').update(blob).digest('hex')}`;

async function filesOf(archive: string): Promise<Map<string, Buffer>> {
  const reader = extract();
  reader.end(await readFile(archive));
  const files = new Map<string, Buffer>();
  for await (const entry of reader) files.set(entry.header.name, await buffer(entry));
  return files;
}
