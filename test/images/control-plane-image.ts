import type { ImageFile, ImageToArchive } from '../../src/containerd/pause/oci-archive.ts';

/**
 * Stands in for kube-apiserver, kube-controller-manager and kube-scheduler: it takes their flags, reads the files that
 * they read, and answers their probes over HTTPS. The API server waits for etcd, with its client certificate.
 */
const component = `#!/bin/busybox sh
set -e
address=0.0.0.0 certificate=/tmp/self.crt key=/tmp/self.key
case $0 in *controller-manager) port=10257 ;; *scheduler) port=10259 ;; esac
for flag in "$@"; do
  value=\${flag#*=}
  case $flag in --*file=/* | --*kubeconfig=/*) busybox test -r "$value" ;; esac
  case $flag in
    --bind-address=*) address=$value ;;
    --secure-port=*) port=$value ;;
    --tls-cert-file=*) certificate=$value ;;
    --tls-private-key-file=*) key=$value ;;
    --etcd-servers=*) etcd=\${value#https://} ;;
    --etcd-cafile=*) authority=$value ;;
    --etcd-certfile=*) client=$value ;;
    --etcd-keyfile=*) client_key=$value ;;
  esac
done
trap 'exit 0' TERM
if [ -n "$etcd" ]; then
  until openssl s_client -connect "$etcd" -CAfile "$authority" -verify_return_error -cert "$client" -key "$client_key" \\
    </dev/null >/dev/null 2>&1; do busybox sleep 0.1; done
else
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost \\
    -config /etc/request.cnf -keyout $key -out $certificate 2>/dev/null
fi
cd /srv
openssl s_server -quiet -WWW -accept "$address:$port" -cert $certificate -key $key &
wait
`;

/** For the image of all three: each is tagged with the name that a manifest has. */
export function controlPlaneImage(files: readonly ImageFile[]): Omit<ImageToArchive, 'architecture'> {
  const names = ['kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];
  const programs = names.map((name): ImageFile => ({
    path: `usr/local/bin/${name}`,
    type: 'file',
    mode: 0o755,
    content: component,
  }));
  const answers = ['healthz', 'livez', 'readyz'].map((name): ImageFile => ({
    path: `srv/${name}`,
    type: 'file',
    content: 'ok',
  }));
  const request: ImageFile = {
    path: 'etc/request.cnf',
    type: 'file',
    content: '[req]\ndistinguished_name = name\n[name]\n',
  };
  return {
    name: 'localhost/control-plane:1',
    layers: [[...files, ...programs, ...answers, request, { path: 'tmp', type: 'directory', mode: 0o1777 }]],
    config: { Env: ['PATH=/usr/local/bin:/usr/bin:/bin'] },
  };
}
