import type { IncomingMessage, ServerResponse } from 'node:http';
import { matchPattern } from '../match-pattern.ts';
import { escapedPath, goEscapedPath, goUnescaped } from './go-text.ts';

/** One request to a handler. */
export interface Call {
  request: IncomingMessage;
  response: ServerResponse;
  /** Parts of the path that the pattern names, decoded. */
  params: Readonly<Record<string, string>>;
  /** Decoded parts of the path below the mount. An empty last one stands for a slash at the end. */
  rest: readonly string[];
  query: URLSearchParams;
}

export type Handler = (call: Call) => unknown;

/** A part of `nodes/…`. A client needs permission for any one of the parts that its path lists. */
export type Subresource =
  'proxy' | 'stats' | 'log' | 'metrics' | 'checkpoint' | 'configz' | 'healthz' | 'pods' | 'spec' | 'statusz';

/** One pattern such as `/{namespace}/{pod}`, below the path of its mount. */
export interface Route {
  methods: readonly string[];
  pattern: string;
  /** Content type of the answer; absent if the handler writes bytes of any type. */
  produces?: string;
  handle: Handler;
}

/** A path with its handlers. A path that ends in `/` stands for everything below it. */
export interface Mount {
  path: string;
  /** The fine-grained name, if there is one, and then the one that older policies know. */
  subresources: readonly Subresource[];
  /** Accepts every method. */
  handle?: Handler;
  routes?: readonly Route[];
}

export type Found =
  { kind: 'redirect'; location: string } | { kind: 'missing' } | { kind: 'mount'; mount: Mount; rest: string[] };

/**
 * The mount for a path as it was sent. An encoded slash is no part of a mount; below the mount it separates parts, as
 * other slashes do. kubelet: Go's net/http ServeMux finds the mount, go-restful takes the decoded path
 */
export function findMount(mounts: readonly Mount[], rawPath: string, search: string): Found {
  const sentPath = goEscapedPath(rawPath);
  const path = cleanPath(sentPath);
  const names = new Map(mounts.map((mount) => [mount.path, mount]));
  const segments = path.slice(1).split('/').map(goUnescaped);
  const decoded = `/${segments.join('/')}`;
  const slashAt = segments.findIndex((segment) => segment.includes('/'));
  const plainLength = slashAt === -1 ? segments.length : slashAt;
  const isPlain = plainLength === segments.length;
  const exact = isPlain ? names.get(decoded) : undefined;
  if (exact === undefined && isPlain && !path.endsWith('/') && names.has(`${decoded}/`)) {
    return { kind: 'redirect', location: `${escapedPath(cleanPath(goUnescaped(rawPath)))}/${search}` };
  }
  // Go escapes this path once more.
  if (path !== sentPath) return { kind: 'redirect', location: `${escapedPath(path)}${search}` };
  if (exact !== undefined) return { kind: 'mount', mount: exact, rest: [] };
  for (let length = Math.min(plainLength, segments.length - 1); length > 0; length -= 1) {
    const mount = names.get(`/${segments.slice(0, length).join('/')}/`);
    if (mount !== undefined) return { kind: 'mount', mount, rest: segments.slice(length).join('/').split('/') };
  }
  return { kind: 'missing' };
}

/** Removes `.`, `..` and empty parts; keeps a last slash. kubelet: Go's net/http cleanPath */
function cleanPath(path: string): string {
  const kept: string[] = [];
  const parts = path.split('/');
  for (const part of parts) {
    if (part === '..') kept.pop();
    else if (part !== '' && part !== '.') kept.push(part);
  }
  const last = parts.at(-1);
  return `/${kept.join('/')}${last === '' && kept.length > 0 ? '/' : ''}`;
}

export type FoundRoute =
  | { kind: 'route'; route: Route; params: Record<string, string> }
  | { kind: 'missing' }
  | { kind: 'method'; allow: string }
  | { kind: 'accept'; available: string };

/** The route of a mount for the rest of the path. kubelet: go-restful's CurlyRouter */
export function findRoute(
  routes: readonly Route[],
  { method, rest, accept }: { method: string; rest: readonly string[]; accept: string | undefined },
): FoundRoute {
  const fitting = routes.flatMap((route) => {
    const params = matchPattern(route.pattern, rest);
    return params === undefined ? [] : [{ route, params }];
  });
  if (fitting.length === 0) return { kind: 'missing' };
  const found = fitting.find(({ route }) => route.methods.includes(method));
  if (found === undefined) {
    return { kind: 'method', allow: [...new Set(fitting.flatMap(({ route }) => route.methods))].sort().join(', ') };
  }
  const { produces } = found.route;
  if (!isAccepted(accept, produces)) return { kind: 'accept', available: produces ?? '' };
  return { kind: 'route', ...found };
}

function isAccepted(accept: string | undefined, produces: string | undefined): boolean {
  if (accept === undefined || accept === '') return true;
  const types = accept.split(',').map((type) => (type.split(';')[0] ?? '').trim());
  return types.some((type) => type === '*/*' || type === produces);
}
