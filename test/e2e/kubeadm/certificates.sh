#!/bin/sh
# Creates what kubeadm's static pods mount: one authority, one certificate under the file names of all components, and
# the API server's client certificate for the kubelet, which has no organization since kubeadm 1.36.
set -e
umask 077
pki=/etc/kubernetes/pki
mkdir -p $pki/etcd
cd $pki
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=kubernetes -keyout ca.key -out ca.crt
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /O=system:masters/CN=edge1 \
  -CA ca.crt -CAkey ca.key -addext basicConstraints=CA:FALSE -addext extendedKeyUsage=serverAuth,clientAuth \
  -addext subjectAltName=DNS:edge1,DNS:localhost,IP:127.0.0.1,IP:192.0.2.10 -keyout apiserver.key -out apiserver.crt
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=kube-apiserver-kubelet-client \
  -CA ca.crt -CAkey ca.key -addext basicConstraints=CA:FALSE -addext extendedKeyUsage=clientAuth \
  -keyout apiserver-kubelet-client.key -out apiserver-kubelet-client.crt
for name in apiserver-etcd-client front-proxy-client etcd/server etcd/peer; do
  cp apiserver.key $name.key
  cp apiserver.crt $name.crt
done
cp ca.crt front-proxy-ca.crt
cp ca.crt etcd/ca.crt
cp ca.key sa.key
openssl pkey -in sa.key -pubout -out sa.pub
for name in controller-manager scheduler kubelet; do echo 'kind: Config' > /etc/kubernetes/$name.conf; done
