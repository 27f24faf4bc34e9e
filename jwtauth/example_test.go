package jwtauth_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/ignex/nova/jwtauth"
	"github.com/ignex/nova/server"
)

// The tokens of an own login service, signed with a shared secret.
func Example() {
	ctx := context.Background()
	secret := []byte("a secret of 32 bytes or more, from the configuration")
	auth, err := jwtauth.New(ctx, jwtauth.Options{
		Secret:        secret,
		Audience:      []string{"market"},
		GroupsClaim:   "roles",
		RequireExpiry: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer auth.Close(ctx)
	options := server.Options{Authenticate: auth.Authenticate}

	// What the login service does:
	token, _ := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"sub": "ann", "aud": "market", "roles": []string{"traders"}, "exp": time.Now().Add(time.Hour).Unix(),
	}).SignedString(secret)

	// What the server does with an upgrade:
	upgrade := httptest.NewRequest(http.MethodGet, "/ws", nil)
	upgrade.Header.Set("Authorization", "Bearer "+token)
	id, err := options.Authenticate(ctx, server.Credentials{Request: upgrade})
	fmt.Println(id.UserID, id.Groups, err)

	_, err = options.Authenticate(ctx, server.Credentials{Token: token[:len(token)-3]})
	fmt.Println(err)
	// Output:
	// ann [traders] <nil>
	// unauthenticated: jwt: signature is wrong
}
