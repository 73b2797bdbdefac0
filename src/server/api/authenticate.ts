import type { IncomingMessage } from 'node:http';
import { type DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { type Clock, systemClock } from '../../clock.ts';
import type { TokenUsers } from './token-file.ts';
import type { User } from './user.ts';

export interface Authentication {
  /** True if clients may present a certificate, because a client CA was given. */
  hasClientCA: boolean;
  tokens: TokenUsers;
  anonymous: boolean;
  /** Defaults to that of the system. */
  clock?: Pick<Clock, 'now'>;
}

/** A request over HTTP/1.1 or HTTP/2. */
type Request = Pick<IncomingMessage, 'socket' | 'headers'> & { stream?: { session?: object | undefined } };

const anonymousUser: User = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/**
 * The user of a request: from its client certificate, or else from its bearer token, or else anonymous if allowed.
 * Returns undefined for wrong or missing credentials. kubelet: cmd/kubelet/app/auth.go BuildAuthn
 */
export function authenticate(
  request: Request,
  { hasClientCA, tokens, anonymous, clock = systemClock }: Authentication,
): User | undefined {
  const certificate = hasClientCA ? certificateUser(request, clock.now()) : undefined;
  if (certificate !== undefined && certificate !== 'wrong') return certificate;
  const token = bearerToken(request.headers.authorization);
  const user = token === undefined || tokens.isEmpty ? undefined : (tokens.userOf(token) ?? 'wrong');
  if (user !== undefined && user !== 'wrong') return withGroup(user);
  if (certificate === 'wrong' || user === 'wrong') return undefined;
  return anonymous ? anonymousUser : undefined;
}

/** The certificate of a connection. Its times are in milliseconds since the epoch. */
interface ShownCertificate {
  user: User | 'wrong' | undefined;
  validFrom: number;
  validTo: number;
}

/** Cached by connection, because reading a certificate takes longer than answering some requests. */
const shownCertificates = new WeakMap<object, ShownCertificate>();

/**
 * Common name and organizations of a certificate that the client CA signed for clients. One without a common name
 * counts as none. The handshake looks at the times once, so each request does. kubelet: apiserver x509.go
 * AuthenticateRequest, CommonNameUserConversion
 */
function certificateUser(request: Request, now: number): User | 'wrong' | undefined {
  const { socket } = request;
  if (!(socket instanceof TLSSocket)) return undefined;
  // Each request over HTTP/2 has another object for its socket.
  const connection = request.stream?.session ?? socket;
  let shown = shownCertificates.get(connection);
  if (shown === undefined) {
    shown = shownCertificate(socket, now);
    shownCertificates.set(connection, shown);
  }
  return shown.validFrom <= now && now <= shown.validTo ? shown.user : 'wrong';
}

function shownCertificate(socket: TLSSocket, now: number): ShownCertificate {
  const own = socket.getPeerCertificate(true) as Partial<DetailedPeerCertificate>;
  const { subject } = own;
  if (subject === undefined) return { user: undefined, validFrom: -Infinity, validTo: Infinity };
  const [name = ''] = texts(subject.CN).slice(-1);
  const [issuer = ''] = texts(own.issuer?.CN).slice(-1);
  const user = name === '' ? undefined : withGroup({ name, groups: texts(subject.O), issuer });
  // The handshake may have trusted another issuer of the same name than one that is out of its time already.
  const issuers = issuersOf(own).filter(({ validFrom, validTo }) => validFrom <= now && now <= validTo);
  const all = [timesOf(own), ...issuers];
  return {
    user: socket.authorized ? user : 'wrong',
    validFrom: Math.max(...all.map(({ validFrom }) => validFrom)),
    validTo: Math.min(...all.map(({ validTo }) => validTo)),
  };
}

type Times = Pick<ShownCertificate, 'validFrom' | 'validTo'>;

/** Times of the certificates above one, up to that of the client CA, which is its own issuer. */
function issuersOf(own: Partial<DetailedPeerCertificate>): Times[] {
  const seen = new Set([own]);
  for (let next = own.issuerCertificate; next !== undefined && !seen.has(next); next = next.issuerCertificate) {
    seen.add(next);
  }
  return [...seen].slice(1).map(timesOf);
}

const timesOf = ({ valid_from = '', valid_to = '' }: Partial<DetailedPeerCertificate>): Times => ({
  validFrom: Date.parse(valid_from),
  validTo: Date.parse(valid_to),
});

const texts = (value: string | string[] | undefined): string[] => (value === undefined ? [] : [value].flat());

const withGroup = ({ groups, ...user }: User): User => ({
  ...user,
  groups: [...groups.filter((group) => group !== 'system:authenticated'), 'system:authenticated'],
});

function bearerToken(header: string | undefined): string | undefined {
  const [scheme = '', token = ''] = (header ?? '').trim().split(' ');
  return scheme.toLowerCase() === 'bearer' && token !== '' ? token : undefined;
}
