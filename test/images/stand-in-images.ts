import type { ImageFile, ImageToArchive } from '../../src/containerd/pause/oci-archive.ts';

/** What a stand-in does instead of the published program of its name. */
interface StandIn {
  /** The published names of its image. */
  readonly images: readonly string[];
  /** The ports of the published program, separated by spaces. */
  readonly ports?: string;
  /**
   * Words for a shell: the addresses that the published program reads from its variables or files. The stand-in adds
   * their answers to its own.
   */
  readonly asks?: string;
  /** True if its clients hear from it before they ask anything, as from a database. */
  readonly greets?: boolean;
  /** Defaults to the stand-in itself. */
  readonly entrypoint?: string;
}

const standIns: Readonly<Record<string, StandIn>> = {
  busybox: { images: ['docker.io/library/busybox:1.36'], entrypoint: 'sh' },
  curl: { images: ['docker.io/curlimages/curl:8.10.1'], entrypoint: 'curl' },
  mysql: { images: ['docker.io/library/mysql:8.4'], ports: '3306', greets: true },
  mariadb: { images: ['docker.io/library/mariadb:11.4'], ports: '3306', greets: true },
  postgres: {
    images: ['docker.io/library/postgres:16-alpine', 'docker.io/bitnami/postgresql:16.4.0'],
    ports: '5432',
    greets: true,
  },
  redis: { images: ['docker.io/library/redis:7-alpine'], ports: '6379', greets: true },

  grafana: {
    images: ['docker.io/grafana/grafana:11.2.0'],
    ports: '3000',
    asks: "$(sed -n 's/^ *url: //p' /etc/grafana/provisioning/datasources/datasources.yaml)",
  },
  prometheus: {
    images: ['quay.io/prometheus/prometheus:v2.54.1'],
    ports: '9090',
    asks: '$(cat /etc/*/prometheus.yml | sed -n "s/^ *- targets: \\[\'\\(.*\\)\'\\]/\\1/p")',
  },
  alertmanager: { images: ['quay.io/prometheus/alertmanager:v0.27.0'], ports: '9093' },
  'node-exporter': { images: ['quay.io/prometheus/node-exporter:v1.8.2'], ports: '9100' },
  'kube-state-metrics': {
    images: ['registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.13.0'],
    ports: '8080 8081',
  },

  wordpress: { images: ['docker.io/library/wordpress:6.6-apache'], ports: '80', asks: '$WORDPRESS_DB_HOST:3306' },
  nextcloud: {
    images: ['docker.io/library/nextcloud:29-apache'],
    ports: '80',
    asks: '$POSTGRES_HOST:5432 $REDIS_HOST:$REDIS_HOST_PORT',
  },
  traefik: {
    images: ['docker.io/library/traefik:v3.1'],
    ports: '8000 8443 9000',
    asks: "$(sed -n 's/^ *- url: //p' /etc/traefik/dynamic/*.yaml)",
  },
  whoami: { images: ['docker.io/traefik/whoami:v1.10'], ports: '80' },
  mosquitto: { images: ['docker.io/library/eclipse-mosquitto:2.0'], ports: '1883 9001', greets: true },
  'node-red': { images: ['docker.io/nodered/node-red:4.0'], ports: '1880', asks: '$MQTT_URL' },
  gitea: { images: ['docker.io/gitea/gitea:1.22-rootless'], ports: '3000 2222', asks: '$GITEA__database__HOST' },
  minio: {
    images: ['quay.io/minio/minio:RELEASE.2024-09-13T20-26-02Z'],
    ports: '9000 9001',
    asks: '$(for each in 0 1 2 3; do echo http://minio-$each.minio-headless.minio.svc.cluster.local:9000/peer; done)',
  },
  mc: { images: ['quay.io/minio/mc:RELEASE.2024-09-16T17-43-14Z'], entrypoint: 'mc' },
  'home-assistant': {
    images: ['ghcr.io/home-assistant/home-assistant:2024.9'],
    ports: '8123',
    asks: '$DB_URL mqtt://$MQTT_HOST:1883',
  },

  frontend: {
    images: ['registry.example/shop/frontend:v0.10.1'],
    ports: '8080',
    asks: '$PRODUCT_CATALOG_SERVICE_ADDR $CURRENCY_SERVICE_ADDR $CART_SERVICE_ADDR $RECOMMENDATION_SERVICE_ADDR $SHIPPING_SERVICE_ADDR $CHECKOUT_SERVICE_ADDR $AD_SERVICE_ADDR',
  },
  checkout: {
    images: ['registry.example/shop/checkoutservice:v0.10.1'],
    ports: '5050',
    asks: '$PRODUCT_CATALOG_SERVICE_ADDR $SHIPPING_SERVICE_ADDR $PAYMENT_SERVICE_ADDR $EMAIL_SERVICE_ADDR $CURRENCY_SERVICE_ADDR $CART_SERVICE_ADDR',
  },
  recommendation: {
    images: ['registry.example/shop/recommendationservice:v0.10.1'],
    ports: '8080',
    asks: '$PRODUCT_CATALOG_SERVICE_ADDR',
  },
  cart: { images: ['registry.example/shop/cartservice:v0.10.1'], ports: '7070', asks: '$REDIS_ADDR' },
  catalog: { images: ['registry.example/shop/productcatalogservice:v0.10.1'], ports: '3550' },
  currency: { images: ['registry.example/shop/currencyservice:v0.10.1'], ports: '7000' },
  payment: { images: ['registry.example/shop/paymentservice:v0.10.1'], ports: '50051' },
  shipping: { images: ['registry.example/shop/shippingservice:v0.10.1'], ports: '50051' },
  email: { images: ['registry.example/shop/emailservice:v0.10.1'], ports: '8080' },
  ad: { images: ['registry.example/shop/adservice:v0.10.1'], ports: '9555' },
  loadgenerator: { images: ['registry.example/shop/loadgenerator:v0.10.1'] },
};

/** Programs that published bundles call. */
const programs = [
  ...['curl', 'mc', 'mysqladmin', 'nc', 'pg_isready', 'redis-cli', 'redis-server'].map(
    (name) => `usr/local/bin/${name}`,
  ),
  'usr/bin/docker-entrypoint.sh',
  'usr/sbin/mosquitto',
];

const standIn = `#!/bin/busybox sh
# Prints the host and the port of an address.
address() {
  address=\${1#*://} address=\${address##*@} address=\${address%%/*}
  case $address in *:*) echo "\${address%:*} \${address##*:}" ;; *) echo "$address 80" ;; esac
}
ask() {
  path=/
  case \${1#*://} in */*) path=/\${1#*://*/} ;; esac
  printf 'GET %s HTTP/1.0\\r\\n\\r\\n' "$path" | busybox nc -w 5 $(address "$1") 2>&1 | tail -n 1
}
answer() {
  answers=
  [ "$1" != / ] || for each in $(eval "echo $STAND_IN_ASKS"); do answers="$answers $(ask "$each")"; done
  echo "$STAND_IN_NAME\${answers:+(\${answers# })}"
}
# Answers a health check of gRPC in frames of HTTP/2: settings, then headers, the message and trailers once the client
# has sent its last frame, of data.
serve_grpc() {
  printf '\\0\\0\\0\\4\\0\\0\\0\\0\\0\\0\\0\\0\\4\\1\\0\\0\\0\\0'
  heard=
  until case $heard in *000100000001*) ;; *) false ;; esac do
    part=$(dd bs=4096 count=1 2>/dev/null | xxd -p)
    [ -n "$part" ] || return
    heard=$heard$(echo $part | sed 's/ //g')
  done
  printf '\\0\\0\\24\\1\\4\\0\\0\\0\\1\\210\\17\\20\\20application/grpc'
  printf '\\0\\0\\7\\0\\0\\0\\0\\0\\1\\0\\0\\0\\0\\2\\10\\1'
  printf '\\0\\0\\17\\1\\5\\0\\0\\0\\1\\0\\13grpc-status\\0010'
  cat >/dev/null
}
before= last=
for word; do before=$last last=$word; done
case \${0##*/} in
  mysqladmin | pg_isready | redis-cli)
    host=127.0.0.1
    while [ $# -gt 0 ]; do
      [ "$1" != -h ] || host=$2
      shift
    done
    exec busybox nc -w 5 "$host" $STAND_IN_PORTS </dev/null
    ;;
  nc) exec busybox nc -w 5 "$before" "$last" </dev/null >/dev/null ;;
  curl | mc)
    heard=$(ask "$last")
    echo "$heard"
    case $heard in *nc:*) exit 1 ;; esac
    ;;
  answer)
    if [ -n "$STAND_IN_GREETS" ]; then
      echo "$STAND_IN_NAME"
      exec cat >/dev/null
    fi
    read -r method path version || exit
    if [ "$method" = PRI ]; then
      serve_grpc
      exit
    fi
    while read -r line && [ "$line" != "$(printf '\\r')" ]; do :; done
    printf 'HTTP/1.1 200 OK\\r\\nConnection: close\\r\\n\\r\\n'
    answer "$path"
    ;;
  *)
    trap 'exit 0' TERM INT
    for port in $STAND_IN_PORTS; do busybox nc -ll -p "$port" -e answer & done
    while :; do
      sleep 3600 &
      wait $!
    done
    ;;
esac
`;

/**
 * Images under the names of published ones. Each answers with its name on the ports of the published program, and adds
 * in brackets what the servers answer that the published one would ask. `files` has busybox, and dash, whose `nc` is
 * that of its PATH.
 */
export function standInImages(files: readonly ImageFile[]): Omit<ImageToArchive, 'architecture'>[] {
  const program: ImageFile = { path: 'usr/local/bin/stand-in', type: 'file', mode: 0o755, content: standIn };
  const target = `/${program.path}`;
  const links = ['usr/local/bin/answer', ...programs].map((path): ImageFile => ({ path, type: 'symlink', target }));
  const layers = [[...files, { path: 'bin/sh', type: 'symlink', target: 'dash' } as const, program, ...links]];
  return Object.entries(standIns).flatMap(([title, { images, ports, asks, greets, entrypoint = 'stand-in' }]) =>
    images.map((name) => ({
      name,
      layers,
      config: {
        Entrypoint: [entrypoint],
        Env: [
          'PATH=/usr/local/bin:/usr/bin:/bin',
          `STAND_IN_NAME=${title}`,
          `STAND_IN_PORTS=${ports ?? ''}`,
          `STAND_IN_ASKS=${asks ?? ''}`,
          `STAND_IN_GREETS=${greets === true ? 'yes' : ''}`,
        ],
      },
    })),
  );
}
