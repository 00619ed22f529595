#!/bin/sh
# Makes the public test identities of this folder afresh: a root, an intermediate and a leaf for each of
# Ed25519 (simulated servers: its signatures always have one size) and RSA-2048 (servers for browsers, which do not take Ed25519).
#
# The names are for tools that check them; a wildcard right below a top-level domain (*.test) would be refused by OpenSSL.
# The keys are public on purpose and protect nothing. The chains are as long as today's usual ones: a leaf of about
# 1.4 KB and an intermediate of about 1.2 KB. What a public leaf has and these lack (two signed certificate timestamps)
# is filler of the same size in an extension of our own; the Ed25519 certificates, being shorter in key and
# signature, get as much more filler as makes each chain equal to RSA's to the byte.
#
# Needs openssl 3. The validity is long (2000 to 2100), so that any plan's start date lies within it.
set -eu
cd "$(dirname "$0")"
out=$PWD
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

filler() { # BYTES -> aa:aa:...
    head -c "$1" /dev/zero | od -An -v -tx1 | tr -d '\n' | sed 's/ 00/:aa/g; s/^://'
}

config() { # LEAF_FILLER INTERMEDIATE_FILLER
    cat <<EOF
[ca]
default_ca = ca_default
[ca_default]
database = index.txt
new_certs_dir = .
rand_serial = yes
default_md = default
policy = any
email_in_dn = no
unique_subject = no
copy_extensions = none
[any]
countryName = optional
organizationName = optional
commonName = supplied
[req]
distinguished_name = dn
[dn]
[root]
basicConstraints = critical, CA:true
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[intermediate]
basicConstraints = critical, CA:true, pathlen:0
keyUsage = critical, digitalSignature, keyCertSign, cRLSign
extendedKeyUsage = serverAuth, clientAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
authorityInfoAccess = OCSP;URI:http://ocsp.root.farlink.test/, caIssuers;URI:http://certificates.farlink.test/root.der
crlDistributionPoints = URI:http://revocation.farlink.test/root.crl
certificatePolicies = 2.23.140.1.2.1
2.25.102976 = DER:$(filler "$2")
[leaf]
basicConstraints = critical, CA:false
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
authorityInfoAccess = OCSP;URI:http://ocsp.intermediate.farlink.test/, caIssuers;URI:http://certificates.farlink.test/intermediate.der
crlDistributionPoints = URI:http://revocation.farlink.test/intermediate.crl
certificatePolicies = 2.23.140.1.2.1
subjectAltName = DNS:localhost, DNS:*.localhost, DNS:farlink.test, DNS:*.farlink.test, DNS:farlink.example, IP:127.0.0.1, IP:::1
2.25.102976 = DER:$(filler "$1")
EOF
}

sign() { # SECTION NAME ISSUER SUBJECT
    openssl req -new -key "$2.key" -subj "$4" -config ca.cnf -out "$2.csr"
    issuer="-cert $3.pem"
    [ "$2" = "$3" ] && issuer=-selfsign
    # shellcheck disable=SC2086
    openssl ca -batch -notext -config ca.cnf -extensions "$1" -keyfile "$3.key" $issuer \
        -startdate 20000101000000Z -enddate 21000101000000Z -in "$2.csr" -out "$2.pem" 2>/dev/null
}

identity() { # NAME ALGORITHM LEAF_FILLER INTERMEDIATE_FILLER
    config "$3" "$4" >ca.cnf
    : >index.txt
    for key in root intermediate leaf; do
        [ -e "$1-$key.key" ] || openssl genpkey -quiet $2 -out "$1-$key.key" 2>/dev/null || openssl genpkey $2 -out "$1-$key.key" 2>/dev/null
    done
    sign root "$1-root" "$1-root" "/C=XX/O=farlink public test key/CN=farlink test root $1"
    sign intermediate "$1-intermediate" "$1-root" "/C=XX/O=farlink public test key/CN=farlink test intermediate $1"
    sign leaf "$1-leaf" "$1-intermediate" "/C=XX/O=farlink public test key/CN=farlink.test"
}

# Two signed certificate timestamps take 240 bytes or so; 206 make the leaf what README.md says.
SCTS=206

size() { openssl x509 -in "$1" -outform DER | wc -c; }

identity rsa "-algorithm RSA -pkeyopt rsa_keygen_bits:2048" "$SCTS" 8
identity ed25519 "-algorithm ED25519" "$SCTS" 8
leaf=$((SCTS + $(size rsa-leaf.pem) - $(size ed25519-leaf.pem)))
intermediate=$((8 + $(size rsa-intermediate.pem) - $(size ed25519-intermediate.pem)))
# A longer filler may take longer DER lengths: correct until the sizes agree.
for _ in 1 2 3; do
    identity ed25519 "-algorithm ED25519" "$leaf" "$intermediate"
    leaf=$((leaf + $(size rsa-leaf.pem) - $(size ed25519-leaf.pem)))
    intermediate=$((intermediate + $(size rsa-intermediate.pem) - $(size ed25519-intermediate.pem)))
done

for name in rsa ed25519; do
    cat "$name-leaf.pem" "$name-intermediate.pem" >"$out/$name-chain.pem"
    cp "$name-leaf.key" "$out/$name-key.pem"
    cp "$name-root.pem" "$out/$name-root.pem"
    echo "$name: leaf $(size $name-leaf.pem) B, intermediate $(size $name-intermediate.pem) B"
done
